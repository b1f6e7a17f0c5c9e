// Inspects and verifies the outputs of a run, for `espalier inspect` and `espalier verify`.
#pragma once

#include <optional>
#include <string>

#include "services/cli/command.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/open_store.h"

namespace espalier::cli {

struct OutputsPlace {
  storage::StoreLocation location;  // the folder of manifest.json
  std::string uri;                  // the same folder, for messages
  format::OutputsManifest manifest;
};

// Reads the outputs manifest at `uri`. Returns nullopt if there is no manifest.json or if it describes something else,
// such as a partitioning.
Result<std::optional<OutputsPlace>> FindOutputs(const std::string& uri, const storage::StoreOpener& open_store);

// Returns the manifest and the result in it as text or JSON. Does not read the output files.
Outcome InspectOutputs(const OutputsPlace& place, bool json);
// Reads every output file. Returns kBadInput with all violations if a file differs from the manifest.
Outcome VerifyOutputs(const OutputsPlace& place, const OutputFlags& out);

}  // namespace espalier::cli
