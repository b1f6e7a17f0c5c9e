// Enumerates the rows of a row space in an order that does not depend on the partitioning. Nodes are ordered by
// original id, own rows (RowSpace::Own) by number. Edges are ordered by the original id of the destination. The
// in-edges of a node are in stored order: by time if the edge type has the partitioning's time column, then by the
// original id of the source, then by the original id of the edge (docs/partition-format.md).
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/tensor.h"
#include "services/client/graph/dist_graph.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::client {

// Iterator over the rows of a row space. For one thread.
class RowOrder {
 public:
  // `graph` must outlive the object. `rows` must have passed sampler::CheckRowSpace; for own rows, num_own_rows must be
  // set. A query reads at most `edges_per_request` (at least 1) edges.
  RowOrder(const DistGraph& graph, const sampler::RowSpace& rows, uint64_t edges_per_request = uint64_t{1} << 20);

  // Returns the next `count` rows, or all remaining rows if there are fewer; an empty vector after the last row. Errors
  // are those of DistGraph queries; Internal: the in-degrees and the edges of a partition disagree.
  Result<std::vector<GlobalRowId>> Next(uint64_t count);
  // Returns a hash of the original endpoint ids of the edges that have been read, in order. If the hashes of two graphs
  // are equal after the last edge, the graphs have the same edges in the same order. 0 for nodes and own rows.
  uint64_t endpoint_hash() const { return endpoint_hash_; }

 private:
  // Returns the nodes of the next `count` original ids.
  Result<std::vector<GlobalNodeId>> NextNodes(NodeTypeId type, uint64_t count);
  // Reads in-edges of the next destinations and appends them to edges_.
  Status ReadEdges();
  // Appends edges to edges_ and their endpoints to the hash. Internal: an edge has another destination than expected.
  Status AddEdges(const std::vector<GlobalEdgeId>& edges, const std::vector<GlobalNodeId>& destinations,
                  const std::vector<uint64_t>& original_destinations);
  bool HasReadAllEdges() const;

  const DistGraph& graph_;
  const sampler::RowSpace rows_;
  const uint64_t edges_per_request_;
  uint64_t next_original_ = 0;  // next original id of nodes or of edge destinations, or next own row
  // The members below are used for edges only.
  std::vector<GlobalNodeId> destinations_;  // current group of destinations, in the order of original ids
  Tensor degrees_;                          // U32 [destinations_.size()]: their in-degrees
  size_t next_destination_ = 0;             // index of the first destination whose in-edges are not all read
  uint64_t edges_read_of_next_ = 0;         // number of in-edges of that destination that are read
  std::vector<uint64_t> next_edges_;        // by partition: global id of the next edge to read
  std::vector<GlobalRowId> edges_;          // edges that are read but not returned yet
  uint64_t endpoint_hash_ = 0;
};

}  // namespace espalier::client
