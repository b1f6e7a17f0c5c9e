// Rows of an edge column by the edges' ends: ids of edges mean nothing to who names edges as pairs.
#pragma once

#include <cstdint>
#include <span>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// [edges, row shape...]: row i is the column's at the in-edge of destinations[i] (a local id) from sources[i] (a global
// id). `in_edges` has passed CheckPartition, `column` has a row for each of its edges, and original_ids (of the owned
// destinations) are for messages; destinations exist. A pair may be asked for more than once. InvalidArgument names a
// pair that is no edge, or whose parallel edges have different rows; ResourceExhausted where more than max_lookups
// in-edges would be looked at (those of each distinct destination, once).
Result<Tensor> RowsOfEdges(const graph::InEdges& in_edges, const Tensor& original_ids, const Tensor& column,
                           std::span<const uint64_t> sources, std::span<const uint64_t> destinations,
                           uint64_t max_lookups);

}  // namespace espalier::shard
