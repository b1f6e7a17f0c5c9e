// What a run that went well does with its outputs (format/outputs_manifest.h), which rank 0 has committed.
#pragma once

#include "services/runner/run/run_folder.h"
#include "services/storage/open_store.h"

namespace espalier::run {

// Outputs in the run's own folder are moved from results/<incarnation>/ to the folder itself (DIR/model,
// DIR/embeddings, DIR/metrics.jsonl, ...), manifest.json names them there, and results/ goes. Outputs elsewhere stay as
// they are, and DIR/result.json is made from their manifest. Internal where nothing has been committed. Killed on the
// way and called again, it finishes what it began.
Status PublishOutputs(const RunFolder& folder, const storage::StoreLocation& output);

}  // namespace espalier::run
