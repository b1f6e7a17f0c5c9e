// The sampler's view of a graph's structure. PartitionedGraph (sampler/routing) implements it over a graph's
// partitions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/partition_book.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::sampler {

// An edge named by its endpoints, in the order in which a partition searches for it.
struct EdgeEnds {
  GlobalNodeId destination;
  GlobalNodeId source;
  friend auto operator<=>(const EdgeEnds&, const EdgeEnds&) = default;
};

// One relation's part of a hop.
struct RelationQuery {
  EdgeTypeId edge_type;
  int32_t fanout = 0;                          // > 0 or kFullNeighborhood
  std::span<const GlobalNodeId> destinations;  // nodes to expand; outlives the call; distinct without times and walks
  std::span<const int64_t> times = {};   // [destinations] later in-edges are not drawn; empty without draw.time_column
  std::span<const uint64_t> walks = {};  // [destinations] numbers of random walks (WalkKey); empty: no walks; all
                                         // relations of a query have walks, or none has
  // Excluded in-edges: draws are made as if the graph did not have the edges of the relation with these endpoints,
  // parallel edges included. They are excluded before drawing, so other in-edges fill the fan-out. Ascending; outlives
  // the call.
  std::span<const EdgeEnds> excluded = {};
};

struct HopQuery {
  std::vector<RelationQuery> relations;
  uint64_t seed = 0;
  HopPosition at;
  DrawSpec draw;  // with a time column, every relation has times
  bool want_edge_ids = false;
};

// The drawn in-edges of one relation. Those of destination i are sources[offsets[i] .. offsets[i + 1]), in stored order
// (with replacement: repeated, non-descending).
struct RelationSample {
  std::vector<uint64_t> offsets;       // [destinations + 1]
  std::vector<GlobalNodeId> sources;   // [drawn]
  std::vector<GlobalEdgeId> edge_ids;  // [drawn], or empty if not requested
};

struct HopSample {
  std::vector<RelationSample> relations;  // in the order of the query
};

// Thread-safe.
class NeighborSource {
 public:
  virtual ~NeighborSource() = default;
  virtual const graph::PartitionBook& book() const = 0;
  // Draws in-edges for all relations of a hop at once (one request per partition). Errors: InvalidArgument (unknown
  // column, id out of range, negative weight), Unavailable, DeadlineExceeded.
  virtual Result<HopSample> SampleInEdges(const HopQuery& query, Deadline deadline) = 0;
  // Returns U32 [nodes]: the in-degree of each node in the whole graph, in the order of `nodes` (of the relation's
  // destination type; repetitions allowed). Errors as SampleInEdges.
  virtual Result<Tensor> InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) = 0;
  // Returns the values of an integer node column as times, in the order of `nodes`. InvalidArgument: the column is not
  // an integer column, or a time is 2^63 or more. Unimplemented: the source has no node columns.
  virtual Result<std::vector<int64_t>> ReadTimes(NodeTypeId, const std::string& column, std::span<const GlobalNodeId>,
                                                 Deadline) {
    return Unimplemented("this source of neighbors has no node column '" + column + "'");
  }
};

}  // namespace espalier::sampler
