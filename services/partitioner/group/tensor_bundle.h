// Arrays on their way from one process to another through a store: safetensors files, each with its checksums.
#pragma once

#include <map>
#include <string>

#include "services/base/tensor.h"
#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

using TensorBundle = std::map<std::string, Tensor>;

// Where bundles of a group lie: `<prefix>/<folder>/<name>.safetensors`.
struct BundlePlace {
  storage::ObjectStore& store;  // outlives this
  std::string prefix;           // of the partitioning
  std::string folder;           // below it
};

// Replaces what is there, which is the same.
Result<format::FileEntry> WriteBundle(const BundlePlace& place, const std::string& name, TensorBundle tensors);

// Mapped where the store's objects are local files, else in memory. DataLoss: it is not what was written.
Result<TensorBundle> ReadBundle(const BundlePlace& place, const format::FileEntry& entry);

// The tensor, of this dtype and shape. DataLoss names the bundle.
Result<Tensor> TakeTensor(const TensorBundle& bundle, const format::FileEntry& entry, const std::string& name,
                          DType dtype, const std::vector<int64_t>& shape);

}  // namespace espalier::partitioner
