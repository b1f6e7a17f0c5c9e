// Which nodes or edges a step trains on. A step's global batch is a pure function of (seed, epoch, step): positions
// [step * batch_size, (step + 1) * batch_size) of a pseudo-random permutation (base/permutation.h) of the split's
// nodes ordered by original id, or of its edges in the user's order, those of several edge types one type after the
// other. Each partition finds its own part of it: its own nodes, and the edges into them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/random_purpose.h"
#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/partition.h"

namespace espalier::sampler {

struct SeedQuery {
  NodeTypeId node_type;
  std::string split;
  graph::SplitPartName part = graph::SplitPartName::kTrain;
  bool shuffle = true;  // false: by original id, edges in the user's order
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t step = 0;
  uint64_t batch_size = 0;  // global
  // Not empty: edges of a split of these types, each named once (CheckSeedTypes); node_type means nothing. Ordinals go
  // through the first type's edges, then the second's, ...
  std::vector<EdgeTypeId> edge_types = {};
  // With one edge type: an edge column whose rows come with the edges, found by the edges' ends; empty: none. An edge
  // that is none of the graph, and parallel edges whose rows differ, are InvalidArgument.
  std::string edge_column = {};
  // With one edge type: the edges' ids, by the edges' ends, and by their numbers where the split has them. An edge that
  // is none of the graph, and parallel edges of which the split names none, are InvalidArgument.
  bool want_edge_ids = false;
  // Of edges, where set: of the step's batch these positions alone, ascending, each once. What comes is theirs, in this
  // order.
  std::optional<std::vector<uint32_t>> positions = {};
};

// The key of an epoch's permutation.
constexpr uint64_t SeedOrderKey(uint64_t seed, uint32_t epoch) {
  return RandomKey(seed, RandomPurpose::kSeedOrder, epoch);
}

// A step's global batch in batch order, or those of it that were asked for. Ids of edges' ends are those of their edge
// type's node types.
struct GlobalBatch {
  std::vector<GlobalNodeId> seeds;          // of edges: their destinations
  std::vector<GlobalNodeId> sources = {};   // of edges: [seeds]; of nodes: empty
  std::vector<uint16_t> types = {};         // of edges: [seeds], which of the query's edge_types; of nodes: empty
  std::vector<GlobalEdgeId> edge_ids = {};  // of edges that are listed by ids, or whose ids are wanted: [seeds]
  Tensor rows = {};                         // [seeds, row shape...] of the query's edge_column; without one: empty
};

// Thread-safe.
class SeedSource {
 public:
  virtual ~SeedSource() = default;
  // Nodes of the part in all partitions. NotFound where the split does not exist, naming those that do.
  virtual Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) = 0;
  // Edges of the part in all partitions; likewise.
  virtual Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) = 0;
  // Fewer seeds than batch_size in an epoch's last step; none past it.
  virtual Result<GlobalBatch> SeedsOfStep(const SeedQuery& query, Deadline deadline) = 0;
  // Global ids of original ids, in the same order; OutOfRange names an id that does not exist.
  virtual Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                        Deadline deadline) = 0;
};

// The part of a global batch that one trainer takes: a pure function of (batch, book, number of trainers), balanced
// to within one (lower ranks take the remainder). A seed of partition p goes to rank p mod T while that rank has
// room; the rest fill the ranks with room in ascending order. Each share is in batch order.
std::vector<GlobalNodeId> ShareOfBatch(const GlobalBatch& batch, const graph::PartitionBook& book, NodeTypeId type,
                                       uint32_t num_trainers, Rank rank);
// The same as positions of the batch, ascending. An edge goes by its destination; `type` is the destination's.
std::vector<uint32_t> PositionsOfShare(const GlobalBatch& batch, const graph::PartitionBook& book, NodeTypeId type,
                                       uint32_t num_trainers, Rank rank);
// The same of edges whose destinations are of several node types: destination_types[t] is that of batch.types' t.
std::vector<uint32_t> PositionsOfShare(const GlobalBatch& batch, const graph::PartitionBook& book,
                                       std::span<const NodeTypeId> destination_types, uint32_t num_trainers, Rank rank);

}  // namespace espalier::sampler
