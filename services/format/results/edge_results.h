// Writes results (predictions, logits) for the edges of a split or for other edges of a type: one row per edge, with
// the original ids of its source and destination.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/files/npy_writer.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Shapes of the arrays of one part of the edges.
struct EdgeResultShape {
  std::string part;  // "train", "validation", "test", or a name given by a program; names the subfolder
  uint64_t rows = 0;
  DType value_dtype = DType::kF32;  // not BF16, which NumPy does not have
  std::vector<int64_t> row_shape;   // shape of the value of an edge; empty: a scalar
};

// Writes `<prefix>/<kind>/<part>/{sources,destinations,values}.npy` in chunks, then `<prefix>/<kind>/manifest.json`
// with the edge type, the split, `attributes`, and the dtype, shape, size and checksums of each file. Call Begin and
// then Append for all rows of each part, and Commit at the end. Thread-compatible.
class EdgeResultsWriter {
 public:
  // `store` must outlive this object. `kind` is "predictions" or "logits". `split` is empty if the edges
  // belong to no split.
  EdgeResultsWriter(storage::ObjectStore& store, std::string prefix, std::string kind, std::string edge_type,
                    std::string split, std::map<std::string, std::string> attributes);

  // Starts a part. Returns InvalidArgument if its name is not one that graph::CheckName accepts, or if rows of the
  // previous part are missing.
  Status Begin(const EdgeResultShape& shape);
  // Appends n rows: `sources` and `destinations` are U64 [n], `values` is [n, row_shape...] with the dtype of Begin.
  // Returns InvalidArgument otherwise, before Begin, and for more rows than Begin has announced.
  Status Append(const Tensor& sources, const Tensor& destinations, const Tensor& values);
  // Writes the manifest. Returns all files, including the manifest, with their keys in the store, or InvalidArgument if
  // rows of the last part are missing.
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
