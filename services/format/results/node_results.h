// Writes results for nodes (embeddings, predictions, logits): one row per node, with its original id.
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

// Shapes of the arrays of one node type.
struct NodeResultShape {
  std::string node_type;
  uint64_t rows = 0;
  DType id_dtype = DType::kU64;     // any integer type
  DType value_dtype = DType::kF32;  // BF16 is stored as F32
  std::vector<int64_t> row_shape;   // shape of the value of a node; empty: a scalar
};

// Writes `<prefix>/<kind>/<node type>/{ids,values}.npy` in chunks, then `<prefix>/<kind>/manifest.json` with
// `attributes` (graph name, model, ...) and the dtype, shape, size and checksums of each file. Call Begin and then
// Append for all rows of each node type, and Commit at the end. Thread-compatible.
class NodeResultsWriter {
 public:
  // `store` must outlive this object. `kind` is "embeddings", "predictions" or "logits".
  NodeResultsWriter(storage::ObjectStore& store, std::string prefix, std::string kind,
                    std::map<std::string, std::string> attributes);

  // Starts a node type. Returns InvalidArgument if the name is not valid for a node type, if the ids are not integers,
  // or if rows of the previous type are missing.
  Status Begin(const NodeResultShape& shape);
  // Appends n rows: `ids` is [n] and `values` is [n, row_shape...], with the dtypes of Begin. Returns InvalidArgument
  // otherwise, before Begin, and for more rows than Begin has announced.
  Status Append(const Tensor& ids, const Tensor& values);
  // Writes the manifest. Returns all files, including the manifest, with their keys in the store, or InvalidArgument if
  // rows of the last node type are missing.
  Result<std::vector<OutputFile>> Commit();

 private:
  struct Open {
    NodeResultShape shape;
    NpyWriter ids;
    NpyWriter values;
  };

  Status EndType();
  nlohmann::ordered_json AddFile(FileEntry entry, DType dtype, std::vector<int64_t> shape);

  storage::ObjectStore& store_;
  const std::string folder_;
  const std::string kind_;
  const std::map<std::string, std::string> attributes_;
  std::optional<Open> open_;
  nlohmann::ordered_json node_types_ = nlohmann::ordered_json::array();
  std::vector<OutputFile> files_;
};

}  // namespace espalier::format
