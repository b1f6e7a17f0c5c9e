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

// The endpoints of an edge. They sort by destination, then by source.
struct EdgeEnds {
  GlobalNodeId destination;
  GlobalNodeId source;
  friend auto operator<=>(const EdgeEnds&, const EdgeEnds&) = default;
};

// The request for one relation in a hop.
struct RelationQuery {
  EdgeTypeId edge_type;
  int32_t fanout = 0;                          // > 0 or kFullNeighborhood
  std::span<const GlobalNodeId> destinations;  // nodes to expand; outlives the call; distinct if there are no times
                                               // and no walks
  // [destinations]: in-edges of destination i whose timestamp is later than times[i] are not drawn. Empty without
  // draw.time_column.
  std::span<const int64_t> times = {};
  // [destinations]: the numbers of the random walks (WalkKey), or empty for ordinary sampling. Either all relations of
  // a query have walks or none of them does.
  std::span<const uint64_t> walks = {};
  // Endpoints of excluded edges: in-edges are drawn as if the relation had no edge (and no parallel edges) with these
  // endpoints, so other in-edges fill the fan-out. Ascending; outlives the call.
  std::span<const EdgeEnds> excluded = {};
};

// A request to sample in-edges for one hop.
struct HopQuery {
  std::vector<RelationQuery> relations;
  uint64_t seed = 0;
  HopPosition at;
  DrawSpec draw;  // with a time column, every relation has times
  bool want_edge_ids = false;
};

// The drawn in-edges of one relation. The in-edges of destination i are at [offsets[i], offsets[i + 1]), in stored
// order; an in-edge that was drawn repeatedly (with replacement) appears repeatedly, in adjacent places.
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
  // Draws in-edges for all relations of a hop at once (one request per partition). Errors: NotFound (unknown column),
  // InvalidArgument (id out of range, negative weight), Unavailable, DeadlineExceeded.
  virtual Result<HopSample> SampleInEdges(const HopQuery& query, Deadline deadline) = 0;
  // Returns U32 [nodes]: the number of in-edges of `type` of each node, in the order of `nodes`, which are of the
  // destination type of `type` (repetitions allowed). Errors: as SampleInEdges.
  virtual Result<Tensor> InDegrees(EdgeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) = 0;
  // Returns the values of an integer node column as times, in the order of `nodes`. NotFound: there is no such column.
  // InvalidArgument: the column does not have one integer per node, or a time is 2^63 or more. Unimplemented: the
  // source has no node columns.
  virtual Result<std::vector<int64_t>> ReadTimes(NodeTypeId /*type*/, const std::string& column,
                                                 std::span<const GlobalNodeId> /*nodes*/, Deadline /*deadline*/) {
    return Unimplemented("this source of neighbors has no node column '" + column + "'");
  }
};

}  // namespace espalier::sampler
