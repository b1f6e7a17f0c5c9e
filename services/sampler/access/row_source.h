// The sampler's and trainer's view of per-node data: features, labels, original ids, and mutable tensors, all by
// (node type, column name). PartitionedGraph (sampler/routing) implements it over a graph's partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  // For an I8 column of scaled values: one scale for each element of a row (graph/feature_scales.h). A RowSource
  // returns and caches the integers; GatherValues converts them to F32.
  std::vector<float> scales = {};

  // Returns the dtype of the rows that GatherValues returns.
  DType value_dtype() const { return scales.empty() ? dtype : DType::kF32; }
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

  // Writes the row of nodes[i] to row places[i] of `out`, [rows, row_shape...] of the column's dtype. places.size()
  // must equal nodes.size(). After an error, these rows have undefined values, and requests in progress may still write
  // to `out`: they share its ownership. The default implementation calls GatherRows and copies the rows.
  virtual Status GatherRowsToPlaces(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                                    std::span<const uint32_t> places, std::shared_ptr<std::byte> out,
                                    Deadline deadline);

  // Returns whether reading rows of the partition's nodes needs RPCs: false if its files are mapped or loaded in this
  // process. The default is false.
  virtual bool is_remote(PartitionId partition) const;
};

// Returns the scales of a column, valid as long as `rows`; empty if the column has none or does not exist.
std::span<const float> FindScales(const RowSource& rows, NodeTypeId type, const std::string& column);

// Returns rows of a column, as GatherRows does. If the column has scales, `threads` threads multiply the integers by
// the scales, and the result is F32.
Result<Tensor> GatherValues(RowSource& rows, NodeTypeId type, const std::string& column,
                            std::span<const GlobalNodeId> nodes, Deadline deadline, int threads = 1);

}  // namespace espalier::sampler
