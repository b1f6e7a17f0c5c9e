// Bundles of tensors that processes exchange through a store: safetensors files with checksums.
#pragma once

#include <map>
#include <string>

#include "services/base/tensor.h"
#include "services/format/partition/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

// Tensors by name.
using TensorBundle = std::map<std::string, Tensor>;

// The location of a group's bundles: `<prefix>/<folder>/<name>.safetensors`.
struct BundlePlace {
  storage::ObjectStore& store;  // outlives this
  std::string prefix;           // of the partitioning
  std::string folder;           // below `prefix`
};

// Writes a bundle and returns its key, size and checksums. Replaces an existing bundle of this name; callers write
// equal content under equal names.
Result<format::FileEntry> WriteBundle(const BundlePlace& place, const std::string& name, TensorBundle tensors);

// Reads a bundle. Tensors are mapped if the store's objects are local files, and in memory otherwise. DataLoss if the
// size or checksums differ from `entry`, or if the safetensors header is invalid.
Result<TensorBundle> ReadBundle(const BundlePlace& place, const format::FileEntry& entry);

// Returns the tensor `name`. DataLoss, with the key of `entry`, if it does not exist or has another dtype or shape.
Result<Tensor> TakeTensor(const TensorBundle& bundle, const format::FileEntry& entry, const std::string& name,
                          DType dtype, const std::vector<int64_t>& shape);

}  // namespace espalier::partitioner
