// Rows of an edge column, looked up by the endpoints of edges, for callers that have pairs of nodes and no edge ids. A
// split can contain the position of the edge that a pair denotes, which selects one of several parallel edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::shard {

// The pairs whose edges are looked up. A pair may occur more than once.
struct RequestedEdges {
  std::span<const uint64_t> sources;       // [edges] global ids
  std::span<const uint64_t> destinations;  // [edges] local ids
  // [edges] as in graph::EdgeSplitPart, where the number of in-edges stands for "no position"; empty: no pair has a
  // position. The edge of a pair without a position is found by the endpoints.
  std::span<const uint64_t> positions = {};
};

// Returns [edges]: the position in in_edges.indices of the in-edge from sources[i] to destinations[i]. Arguments and
// errors are those of FindEdgeRows, except that a pair without a position is InvalidArgument whenever it has several
// parallel edges.
Result<std::vector<uint64_t>> FindEdgePositions(const graph::InEdges& in_edges, const Tensor& original_ids,
                                                const RequestedEdges& requested, uint64_t max_lookups);

// Returns [edges, row shape...]: row i is the column's row of the in-edge from sources[i] to destinations[i].
// `in_edges` and the edges' split have passed CheckPartition, `column` has a row for each in-edge, and destinations
// exist. `original_ids`, of the owned destinations, are only for messages. InvalidArgument names a pair that is not an
// edge, or a pair without a position whose parallel edges have different rows. ResourceExhausted if the lookup would
// visit more than max_lookups in-edges (those of each distinct destination count once).
Result<Tensor> FindEdgeRows(const graph::InEdges& in_edges, const Tensor& original_ids, const Tensor& column,
                            const RequestedEdges& requested, uint64_t max_lookups);

}  // namespace espalier::shard
