// Named mutable node tensors, whose rows are stored by their owners. Layer-wise inference stores its activations in
// them and reads them through RowSource::GatherRows under the same name. partitioned_tensors.h has all operations on
// tensors.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/graph/ids.h"

namespace espalier::sampler {

// Thread-safe. Callers ensure that at most one process writes a row at a time.
class TensorStore {
 public:
  virtual ~TensorStore() = default;
  // Creates a zero-filled tensor [nodes of type, row_shape...] on all partitions. Succeeds if it exists already;
  // AlreadyExists if the name belongs to a tensor of another dtype or shape or to an immutable column. NotFound if a
  // tensor has the name but one of its partitions has lost the rows.
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
