// Named mutable node tensors on the owners of the rows, in which layer-wise inference stores its activations
// (partitioned_tensors.h has all operations on tensors). They are read through RowSource::GatherRows under the same
// name.
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
  // Creates a zero-filled tensor [nodes of type, row_shape...] on all partitions. Succeeds if it exists already;
  // AlreadyExists if the name belongs to a tensor of another dtype or shape or to an immutable column. NotFound if an
  // owner has lost its rows of the tensor that has the name.
  virtual Status CreateTensor(NodeTypeId type, const std::string& name, DType dtype,
                              const std::vector<int64_t>& row_shape, Deadline deadline) = 0;
  // Writes rows: [nodes.size(), row_shape...] of the tensor's dtype; nodes are distinct. A read that starts after this
  // returns sees the rows.
  virtual Status WriteRows(NodeTypeId type, const std::string& name, std::span<const GlobalNodeId> nodes,
                           const Tensor& rows, Deadline deadline) = 0;
  // Drops the tensor; succeeds if it does not exist.
  virtual Status DropTensor(NodeTypeId type, const std::string& name, Deadline deadline) = 0;
};

}  // namespace espalier::sampler
