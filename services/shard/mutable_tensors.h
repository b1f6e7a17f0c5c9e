// Named tensors of one partition that may be written: activations of layer-wise inference.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/tensor.h"
#include "services/sampler/partition_access.h"

namespace espalier::shard {

// Thread-safe: readers of a tensor run together, a writer alone. Dropping a tensor does not disturb who reads it.
class MutableTensors {
 public:
  explicit MutableTensors(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Zero-filled [num_rows, row_shape...]. The same call again is fine; AlreadyExists for another dtype or shape,
  // ResourceExhausted past the limit, InvalidArgument for a bad name or shape.
  Status Create(NodeTypeId type, const std::string& name, DType dtype, uint64_t num_rows,
                const std::vector<int64_t>& row_shape);
  // NotFound names the tensors that exist.
  Status Write(NodeTypeId type, const std::string& name, std::span<const LocalNodeId> nodes, const Tensor& rows);
  Status Gather(NodeTypeId type, const std::string& name, std::span<const LocalNodeId> nodes,
                const sampler::RowSink& sink);
  void Drop(NodeTypeId type, const std::string& name);

  bool Contains(NodeTypeId type, const std::string& name) const;
  uint64_t SizeBytes() const;
  std::vector<std::string> NamesOf(NodeTypeId type) const;

 private:
  struct Entry {
    Entry(DType d, std::vector<int64_t> s, uint64_t n);

    const DType dtype;
    const std::vector<int64_t> row_shape;
    const uint64_t num_rows;
    const size_t row_bytes;
    std::shared_mutex mutex;  // guards what `rows` points at
    const std::unique_ptr<std::byte, void (*)(void*)> rows;
  };
  using Key = std::pair<uint16_t, std::string>;

  Result<std::shared_ptr<Entry>> Find(NodeTypeId type, const std::string& name) const;

  const uint64_t max_bytes_;
  mutable Mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::shard
