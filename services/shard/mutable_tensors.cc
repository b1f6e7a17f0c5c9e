#include "services/shard/mutable_tensors.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "services/graph/schema.h"
#include "services/shard/row_gather.h"

namespace espalier::shard {
namespace {

size_t RowBytes(DType dtype, const std::vector<int64_t>& row_shape) {
  size_t bytes = SizeOf(dtype);
  for (const int64_t dimension : row_shape) bytes *= static_cast<size_t>(dimension);
  return bytes;
}

std::byte* Zeroed(size_t size_bytes) {
  return static_cast<std::byte*>(std::calloc(size_bytes == 0 ? 1 : size_bytes, 1));
}

}  // namespace

MutableTensors::Entry::Entry(DType d, std::vector<int64_t> s, uint64_t n)
    : dtype(d),
      row_shape(std::move(s)),
      num_rows(n),
      row_bytes(RowBytes(d, row_shape)),
      rows(Zeroed(num_rows * row_bytes), std::free) {}

Status MutableTensors::Create(NodeTypeId type, const std::string& name, DType dtype, uint64_t num_rows,
                              const std::vector<int64_t>& row_shape) {
  RETURN_IF_ERROR(graph::CheckName("tensor", name));
  std::vector<int64_t> shape = {static_cast<int64_t>(num_rows)};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  RETURN_IF_ERROR(CheckedElementCount(row_shape, SizeOf(dtype)).status());
  ASSIGN_OR_RETURN(const int64_t num_elements, CheckedElementCount(shape, SizeOf(dtype)));
  const uint64_t size_bytes = static_cast<uint64_t>(num_elements) * SizeOf(dtype);

  MutexLock lock(&mutex_);
  const auto found = entries_.find(Key(type.value, name));
  if (found != entries_.end()) {
    if (found->second->dtype == dtype && found->second->row_shape == row_shape) return {};
    return AlreadyExists("tensor '" + name + "' exists with another element type or shape");
  }
  if (size_bytes > max_bytes_ - size_bytes_) {
    return ResourceExhausted("tensor '" + name + "' needs " + std::to_string(size_bytes) + " bytes; " +
                             std::to_string(max_bytes_ - size_bytes_) + " of " + std::to_string(max_bytes_) +
                             " are left");
  }
  auto entry = std::make_shared<Entry>(dtype, row_shape, num_rows);
  if (entry->rows == nullptr) {
    return ResourceExhausted("out of memory: tensor '" + name + "' needs " + std::to_string(size_bytes) + " bytes");
  }
  entries_.emplace(Key(type.value, name), std::move(entry));
  size_bytes_ += size_bytes;
  return {};
}

Result<std::shared_ptr<MutableTensors::Entry>> MutableTensors::Find(NodeTypeId type, const std::string& name) const {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(Key(type.value, name));
  if (found != entries_.end()) return found->second;
  return NotFound("there is no mutable tensor '" + name + "' of node type " + std::to_string(type.value));
}

Status MutableTensors::Write(NodeTypeId type, const std::string& name, std::span<const LocalNodeId> nodes,
                             const Tensor& rows) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(type, name));
  std::vector<int64_t> expected = {static_cast<int64_t>(nodes.size())};
  expected.insert(expected.end(), entry->row_shape.begin(), entry->row_shape.end());
  if (rows.dtype() != entry->dtype || rows.shape() != expected) {
    return InvalidArgument("tensor '" + name + "' cannot take " + rows.ToString() + " for " +
                           std::to_string(nodes.size()) + " rows of " + NameOf(entry->dtype) + " with " +
                           std::to_string(entry->row_bytes) + " bytes each");
  }
  for (const LocalNodeId node : nodes) {
    if (node.value >= entry->num_rows) {
      return InvalidArgument("row " + std::to_string(node.value) + " of tensor '" + name + "' does not exist; it has " +
                             std::to_string(entry->num_rows));
    }
  }
  const std::unique_lock lock(entry->mutex);
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::memcpy(entry->rows.get() + nodes[i].value * entry->row_bytes, rows.bytes() + i * entry->row_bytes,
                entry->row_bytes);
  }
  return {};
}

Status MutableTensors::Gather(NodeTypeId type, const std::string& name, std::span<const LocalNodeId> nodes,
                              const sampler::RowSink& sink) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Entry> entry, Find(type, name));
  const std::shared_lock lock(entry->mutex);
  return GatherInto(entry->rows.get(), entry->num_rows, entry->row_bytes, nodes, sink);
}

void MutableTensors::Drop(NodeTypeId type, const std::string& name) {
  MutexLock lock(&mutex_);
  const auto found = entries_.find(Key(type.value, name));
  if (found == entries_.end()) return;
  size_bytes_ -= found->second->num_rows * found->second->row_bytes;
  entries_.erase(found);
}

bool MutableTensors::Contains(NodeTypeId type, const std::string& name) const {
  MutexLock lock(&mutex_);
  return entries_.contains(Key(type.value, name));
}

uint64_t MutableTensors::SizeBytes() const {
  MutexLock lock(&mutex_);
  return size_bytes_;
}

std::vector<std::string> MutableTensors::NamesOf(NodeTypeId type) const {
  MutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [key, entry] : entries_) {
    if (key.first == type.value) names.push_back(key.second);
  }
  return names;
}

}  // namespace espalier::shard
