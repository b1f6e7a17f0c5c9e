// What the files of results have in common: an array's entry in the manifest of its kind, and that manifest itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/format/outputs_manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// The entry of an array below `folder`, the kind's own: name, dtype, shape, size and checksums.
nlohmann::ordered_json ResultArrayJson(const FileEntry& entry, const std::string& folder, DType dtype,
                                       const std::vector<int64_t>& shape);

// Puts `manifest` at `<folder>/manifest.json`; bytes of names that are no UTF-8 are replaced.
Result<OutputFile> PutResultManifest(storage::ObjectStore& store, const std::string& folder, const std::string& kind,
                                     const nlohmann::ordered_json& manifest);

}  // namespace espalier::format
