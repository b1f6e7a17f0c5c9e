// Named mutable node tensors on the owners of the rows, as layer-wise inference keeps its activations in them
// (partitioned_tensors.h has everything that tensors can do).
// Read through RowSource::GatherRows under the same name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::sampler {

// Thread-safe. Each row has one writing process at a time.
class TensorStore {
 public:
  virtual ~TensorStore() = default;
  // Zero-filled [nodes of type, row_shape...] on all partitions. The same call again is fine; another dtype or
  // shape under the name is AlreadyExists, and so is the name of an immutable column. NotFound: an owner has lost its
  // rows of the tensor that has the name.
  virtual Status CreateTensor(NodeTypeId type, const std::string& name, DType dtype,
                              const std::vector<int64_t>& row_shape, Deadline deadline) = 0;
  // rows: [nodes.size(), row_shape...] of the tensor's dtype; nodes distinct. Acknowledged: a read that starts
  // after it returns sees the rows.
  virtual Status WriteRows(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes,
                           const Tensor& rows, Deadline deadline) = 0;
  // Dropping what does not exist is fine.
  virtual Status DropTensor(NodeTypeId type, const std::string& name, Deadline deadline) = 0;
};

}  // namespace espalier::sampler
