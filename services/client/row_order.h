// Enumerates the rows of a row space in an order that does not depend on the partitioning: nodes by original id, own
// rows by number, edges by the original id of the destination and then in the stored order of in-edges (by the time
// column if the partitioning has one, by original id of the source, by original id of the edge:
// docs/partition-format.md).
#pragma once

#include <cstdint>
#include <vector>

#include "services/base/tensor.h"
#include "services/client/dist_graph.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::client {

// Owned by one thread.
class RowOrder {
 public:
  // `graph` must outlive this object. `rows` has been checked; for own rows it has their number. `edges_per_request` is
  // the number of edges per request.
  RowOrder(const DistGraph& graph, const sampler::RowSpace& rows, uint64_t edges_per_request = uint64_t{1} << 20);

  // Returns the next `count` rows, fewer at the end, none after it.
  Result<std::vector<GlobalRowId>> Next(uint64_t count);
  // Returns a hash of the original ids of the end nodes of all edges so far, in order: two graphs with the same final
  // value have the same edges in the same order. Constant for other rows.
  uint64_t ends() const { return ends_; }

 private:
  Result<std::vector<GlobalNodeId>> NextNodes(NodeTypeId type, uint64_t count);
  // Edges into the next nodes, to the end of edges_.
  Status ReadEdges();
  Status AddEdges(const std::vector<GlobalEdgeId>& edges, const std::vector<GlobalNodeId>& destinations,
                  const std::vector<uint64_t>& original_destinations);
  bool AllEdgesWereRead() const;

  const DistGraph& graph_;
  const sampler::RowSpace rows_;
  const uint64_t edges_per_question_;
  uint64_t next_original_ = 0;  // of nodes, of edges' destinations, of own rows
  // Of edges: destinations that have been looked up, [next_destination_, ...) of which have not been read yet, and
  // their in-degrees; how many edges into the next one have been read; by partition the edge that follows those that
  // have been read; and the edges that have been read and not been asked for.
  std::vector<GlobalNodeId> destinations_;
  Tensor degrees_;  // U32 [destinations_.size()]
  size_t next_destination_ = 0;
  uint64_t edges_into_next_ = 0;
  std::vector<uint64_t> next_edges_;
  std::vector<GlobalRowId> edges_;
  uint64_t ends_ = 0;
};

}  // namespace espalier::client
