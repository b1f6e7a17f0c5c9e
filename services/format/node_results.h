// What a run leaves for its user: one row per node, under the user's own ids.
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

// The arrays of one node type.
struct NodeResultShape {
  std::string node_type;
  uint64_t rows = 0;
  DType id_dtype = DType::kU64;     // any integer type
  DType value_dtype = DType::kF32;  // BF16 is stored as F32
  std::vector<int64_t> row_shape;   // of a node's value; empty: a scalar
};

// Writes `<prefix>/<kind>/<node type>/{ids,values}.npy` piece by piece, then `<prefix>/<kind>/manifest.json`, which
// says what there is: `attributes` (graph name, model, ...) and each file's dtype, shape, size and checksums.
// For each node type: Begin, Append until all rows are there; in the end Commit. One thread at a time.
class NodeResultsWriter {
 public:
  // `store` outlives this. `kind`: "embeddings", "predictions", "logits".
  NodeResultsWriter(storage::ObjectStore& store, std::string prefix, std::string kind,
                    std::map<std::string, std::string> attributes);

  // InvalidArgument for a name that is no node type's, ids that are no integers, and where the type before lacks rows.
  Status Begin(const NodeResultShape& shape);
  // ids [n], values [n, row shape], of the dtypes of Begin: InvalidArgument otherwise.
  Status Append(const Tensor& ids, const Tensor& values);
  // Writes the manifest. All files, the manifest too, with their keys in the store.
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
