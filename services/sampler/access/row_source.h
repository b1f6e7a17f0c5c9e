// The sampler's and trainer's view of per-node data: features, labels, original ids, and mutable tensors, all by
// (node type, column name). PartitionedGraph (sampler/routing) implements it over a graph's partitions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/graph/partition.h"

namespace espalier::sampler {

// The name under which original ids are read as a column, U64.
inline constexpr const char* kOriginalIdColumn = graph::kOriginalIdColumn;

struct ColumnDescription {
  NodeTypeId node_type;
  std::string name;
  DType dtype;
  std::vector<int64_t> row_shape;  // without the first dimension
};

// Thread-safe.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Returns the immutable columns, sorted by (type, name).
  virtual const std::vector<ColumnDescription>& columns() const = 0;

  // Returns rows of one column in the order of `nodes` (repetitions allowed): [nodes.size(), row_shape...]. NotFound
  // names the existing columns.
  virtual Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                    Deadline deadline) = 0;
};

}  // namespace espalier::sampler
