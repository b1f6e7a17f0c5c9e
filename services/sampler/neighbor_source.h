// The sampler's view of a graph's structure. `shard` implements it on one mapped partition, `client` on many
// partitions, remote or mapped.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/partition_book.h"
#include "services/sampler/sampling_spec.h"

namespace espalier::sampler {

// One relation's part of a hop.
struct RelationQuery {
  EdgeTypeId edge_type;
  int32_t fanout = 0;                          // > 0 or kFullNeighborhood
  std::span<const GlobalNodeId> destinations;  // nodes to expand; distinct; outlives the call
};

struct HopQuery {
  std::vector<RelationQuery> relations;
  uint64_t seed = 0;
  HopPosition at;
  bool replace = false;
  std::string weight_column;  // empty: uniform
  bool want_edge_ids = false;
};

// The drawn in-edges of one relation: those of destination i are
// sources[offsets[i] .. offsets[i + 1]), in stored position order (with replacement: repeated, non-descending).
struct RelationSample {
  std::vector<uint64_t> offsets;       // [destinations + 1]
  std::vector<GlobalNodeId> sources;   // [drawn]
  std::vector<GlobalEdgeId> edge_ids;  // [drawn], or empty where not wanted
};

struct HopSample {
  std::vector<RelationSample> relations;  // as in the query
};

// Thread-safe.
class NeighborSource {
 public:
  virtual ~NeighborSource() = default;
  virtual const graph::PartitionBook& book() const = 0;
  // All relations of a hop at once (one request per partition). Errors: InvalidArgument (unknown column, id out
  // of range, negative weight), Unavailable, DeadlineExceeded.
  virtual Result<HopSample> SampleInEdges(const HopQuery& query, Deadline deadline) = 0;
};

}  // namespace espalier::sampler
