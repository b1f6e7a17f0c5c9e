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

// U64, where it is asked for as a column.
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

  // The immutable columns, sorted by (type, name).
  virtual const std::vector<ColumnDescription>& columns() const = 0;

  // Rows of one column in the order of `nodes` (repetitions allowed): [nodes.size(), row_shape...].
  // NotFound names the columns that exist.
  virtual Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                    Deadline deadline) = 0;
};

}  // namespace espalier::sampler
