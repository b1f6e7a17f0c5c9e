// Helpers of NodeResultsWriter and EdgeResultsWriter: shapes of arrays, the manifest of a kind of results, and entries
// of arrays in this manifest.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/format/results/outputs_manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Returns the shape of an array of `rows` rows: [rows, row_shape...].
std::vector<int64_t> ArrayShape(int64_t rows, const std::vector<int64_t>& row_shape);

// Returns the entry of an array: file name relative to `folder` (the folder of the kind), dtype, shape, size and
// checksums.
nlohmann::ordered_json ResultArrayJson(const FileEntry& entry, const std::string& folder, DType dtype,
                                       const std::vector<int64_t>& shape);

// Writes `manifest` to `<folder>/manifest.json` and returns its entry. Bytes that are not UTF-8 are replaced by U+FFFD.
Result<OutputFile> PutResultManifest(storage::ObjectStore& store, const std::string& folder, const std::string& kind,
                                     const nlohmann::ordered_json& manifest);

}  // namespace espalier::format
