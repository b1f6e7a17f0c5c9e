// What `espalier inspect` and `espalier verify` say about the outputs of a run.
#pragma once

#include <optional>
#include <string>

#include "services/cli/command.h"
#include "services/format/outputs_manifest.h"
#include "services/storage/open_store.h"

namespace espalier::cli {

struct OutputsPlace {
  storage::StoreLocation location;  // of manifest.json
  std::string uri;                  // of the same, for messages
  format::OutputsManifest manifest;
};

// The outputs that are committed at `uri`; none where no manifest of outputs lies there, a partitioning's for one.
Result<std::optional<OutputsPlace>> FindOutputs(const std::string& uri, const storage::StoreOpener& open_store);

Outcome InspectOutputs(const OutputsPlace& place, bool json);
// Reads every file: kBadInput and the violations where one is not as the manifest says.
Outcome VerifyOutputs(const OutputsPlace& place, const OutputFlags& out);

}  // namespace espalier::cli
