// Publishes the outputs of a successful run, which rank 0 has committed (format/results/outputs_manifest.h).
#pragma once

#include "services/runner/run/run_folder.h"
#include "services/storage/open_store.h"

namespace espalier::run {

// Moves outputs in the run's own folder from results/<incarnation>/ to the folder itself (DIR/model, DIR/embeddings,
// DIR/metrics.jsonl, ...), updates manifest.json, and removes the results of all incarnations. Outputs in another
// location stay there, and DIR/result.json is written from their manifest. Internal if nothing was committed.
// Idempotent: a call after an interrupted one completes it.
Status PublishOutputs(const RunFolder& folder, const storage::StoreLocation& output);

}  // namespace espalier::run
