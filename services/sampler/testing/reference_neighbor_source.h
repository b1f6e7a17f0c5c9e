// A slow and simple reference implementation of docs/sampling.md over an edge list in memory, to compare the fast
// kernels with. Original ids are global ids; there is one partition.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/sampler/access/neighbor_source.h"

namespace espalier::sampler::testing {

struct ReferenceEdge {
  uint64_t source;
  uint64_t destination;
  uint32_t weight = 1;
  int64_t time = 0;
};

// One relation's edges; edge i has original id i.
using ReferenceEdges = std::vector<ReferenceEdge>;

class ReferenceNeighborSource final : public NeighborSource {
 public:
  // edges[type]: the edges of each edge type of the schema. Any name of a weight column means ReferenceEdge::weight.
  // Any name of a time column means ReferenceEdge::time; in-edges are then sorted by time first.
  ReferenceNeighborSource(graph::GraphSchema schema, std::vector<uint64_t> num_nodes,
                          std::vector<ReferenceEdges> edges);

  const graph::PartitionBook& book() const override { return book_; }
  Result<HopSample> SampleInEdges(const HopQuery& query, Deadline deadline) override;
  Result<Tensor> InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) override;

  // The in-edges of one node in stored order: (source, original edge id).
  ReferenceEdges FindInEdges(EdgeTypeId type, uint64_t node) const;

 private:
  graph::PartitionBook book_;
  // The in-edges of a destination in stored order, and the global id of the first one.
  struct Row {
    uint64_t first_edge = 0;
    ReferenceEdges edges;
  };
  std::vector<std::map<uint64_t, Row>> rows_;
};

// Return the positions of the `count` smallest variates divided by weights, or of the last in-edges, as
// docs/sampling.md defines them.
std::vector<uint32_t> ReferenceLaborPositions(uint64_t key, const std::vector<uint64_t>& source_ids,
                                              const std::vector<uint32_t>& weights, uint32_t count);
std::vector<uint32_t> ReferenceLastPositions(const std::vector<uint32_t>& weights, uint32_t count);

// Returns the positions drawn from a row of these weights, as docs/sampling.md defines them. Without `weighted` the
// weights are ignored.
std::vector<uint32_t> ReferencePositions(uint64_t key, uint64_t original_id, const std::vector<uint32_t>& weights,
                                         int32_t fanout, bool replace, bool weighted);

// One node type "node" and one edge type.
graph::GraphSchema HomogeneousSchema();

}  // namespace espalier::sampler::testing
