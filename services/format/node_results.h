// What a run leaves for its user: one row per node, under the user's own ids.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/storage/object_store.h"

namespace espalier::format {

struct NodeResult {
  std::string node_type;
  Tensor ids;     // [n] original ids, any integer type
  Tensor values;  // [n, ...]; BF16 is stored as F32
};

// Writes `<prefix>/<kind>/<node type>/{ids,values}.npy`, then `<prefix>/<kind>/manifest.json`, which says what there
// is: `attributes` (graph name, partition key, model, ...) and each file's dtype, shape, size and checksums.
// `kind`: "embeddings", "predictions". InvalidArgument where ids and values have different lengths.
Status WriteNodeResults(storage::ObjectStore& store, const std::string& prefix, const std::string& kind,
                        const std::map<std::string, std::string>& attributes, const std::vector<NodeResult>& results);

}  // namespace espalier::format
