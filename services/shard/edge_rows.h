// Rows of an edge column by the edges' ends: ids of edges mean nothing to who names edges as pairs. Where ends are not
// enough, a split says which of several edges it means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// Pairs whose edges' rows are wanted. A pair may be asked for more than once.
struct AskedEdges {
  std::span<const uint64_t> sources;       // [edges] global ids
  std::span<const uint64_t> destinations;  // [edges] local ids
  // [edges] as graph::EdgeSplitPart has them; empty: edges are found by their ends.
  std::span<const uint64_t> positions = {};
};

// [edges]: where the in-edge of destinations[i] from sources[i] stands in in_edges.indices. Arguments and errors as
// RowsOfEdges', but that parallel edges are InvalidArgument whatever their rows.
Result<std::vector<uint64_t>> PositionsOfEdges(const graph::InEdges& in_edges, const Tensor& original_ids,
                                               const AskedEdges& asked, uint64_t max_lookups);

// [edges, row shape...]: row i is the column's at the in-edge of destinations[i] from sources[i]. `in_edges` and the
// edges' split have passed CheckPartition, `column` has a row for each in-edge, and original_ids (of the owned
// destinations) are for messages; destinations exist. InvalidArgument names a pair that is no edge, or, without a
// position, whose parallel edges have different rows; ResourceExhausted where more than max_lookups in-edges would be
// looked at (those of each distinct destination, once).
Result<Tensor> RowsOfEdges(const graph::InEdges& in_edges, const Tensor& original_ids, const Tensor& column,
                           const AskedEdges& asked, uint64_t max_lookups);

}  // namespace espalier::shard
