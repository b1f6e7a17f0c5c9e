// What a run leaves for its user of the edges of a split: one row per edge, under the original ids of its ends.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/npy_writer.h"
#include "services/format/outputs_manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// The arrays of one part of the split.
struct EdgeResultShape {
  std::string part;  // "train", "validation", "test"
  uint64_t rows = 0;
  DType value_dtype = DType::kF32;  // not BF16, which NumPy lacks
  std::vector<int64_t> row_shape;   // of an edge's value; empty: a scalar
};

// Writes `<prefix>/<kind>/<part>/{sources,destinations,values}.npy` piece by piece, then
// `<prefix>/<kind>/manifest.json`, which says what there is: the edges' type and split, `attributes` and each file's
// dtype, shape, size and checksums. For each part: Begin, Append until all rows are there; in the end Commit. One
// thread at a time.
class EdgeResultsWriter {
 public:
  // `store` outlives this. `kind`: "predictions", "logits".
  EdgeResultsWriter(storage::ObjectStore& store, std::string prefix, std::string kind, std::string edge_type,
                    std::string split, std::map<std::string, std::string> attributes);

  // InvalidArgument where the part before lacks rows.
  Status Begin(const EdgeResultShape& shape);
  // sources, destinations U64 [n], values [n, row shape] of the dtype of Begin: InvalidArgument otherwise.
  Status Append(const Tensor& sources, const Tensor& destinations, const Tensor& values);
  // Writes the manifest. All files, the manifest too, with their keys in the store.
  Result<std::vector<OutputFile>> Commit();

 private:
  struct Open {
    EdgeResultShape shape;
    NpyWriter sources, destinations, values;
  };

  Status EndPart();
  nlohmann::ordered_json AddFile(FileEntry entry, DType dtype, std::vector<int64_t> shape);

  storage::ObjectStore& store_;
  const std::string folder_, kind_, edge_type_, split_;
  const std::map<std::string, std::string> attributes_;
  std::optional<Open> open_;
  nlohmann::ordered_json parts_ = nlohmann::ordered_json::array();
  std::vector<OutputFile> files_;
};

}  // namespace espalier::format
