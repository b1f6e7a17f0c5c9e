// Selects the nodes or edges that a step trains on. A step's global batch is a pure function of (seed, epoch, step):
// positions [step * batch_size, (step + 1) * batch_size) of a list: the split's nodes by original id, or its edges in
// the user's order, one edge type after another, permuted pseudo-randomly (base/permutation.h) if SeedQuery::shuffle is
// set. Each partition computes its part of the batch: the nodes that it owns, or the edges into nodes that it owns.
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
  bool shuffle = true;  // false: nodes by original id, edges in the user's order
  uint64_t seed = 0;
  uint32_t epoch = 0;
  uint32_t step = 0;
  uint64_t batch_size = 0;  // global
  // If not empty: the seeds are edges of these types, which are distinct (CheckSeedTypes), and node_type is ignored.
  std::vector<EdgeTypeId> edge_types = {};
  // With one edge type: an edge column whose rows are returned with the edges; empty: none. Edges are found by their
  // edge numbers if the split has them (docs/graph-formats.md), otherwise by their endpoints. InvalidArgument: the
  // graph has no edge between the endpoints, or, without edge numbers, has parallel edges with different rows.
  std::string edge_column = {};
  // With one edge type: whether the edges' ids are returned. Edges are found as for edge_column. InvalidArgument: the
  // graph has no edge between the endpoints, or, without edge numbers, has parallel edges.
  bool want_edge_ids = false;
  // Only for edges: positions in the step's batch, ascending and distinct. If set, the response contains only the edges
  // at these positions, in this order.
  std::optional<std::vector<uint32_t>> positions = {};
};

// Returns the key of an epoch's permutation.
constexpr uint64_t SeedOrderKey(uint64_t seed, uint32_t epoch) {
  return RandomKey(seed, RandomPurpose::kSeedOrder, epoch);
}

// A step's global batch in batch order, or the requested positions of it. The endpoint ids of an edge are ids of the
// source type and the destination type of its edge type.
struct GlobalBatch {
  std::vector<GlobalNodeId> seeds;          // for edges, their destinations
  std::vector<GlobalNodeId> sources = {};   // for edges, [seeds]; for nodes, empty
  std::vector<uint16_t> types = {};         // for edges, [seeds], indices into the query's edge_types; for nodes, empty
  std::vector<GlobalEdgeId> edge_ids = {};  // [seeds] if SeedQuery asks for them or the seeds are a list of edge ids
                                            // instead of a split (client::EdgeListSeeds); otherwise empty
  Tensor rows = {};                         // [seeds, row shape...] of the query's edge_column; empty without one
};

// Thread-safe.
class SeedSource {
 public:
  virtual ~SeedSource() = default;
  // Returns the number of nodes in the split's part, over all partitions. NotFound: there is no such split; the message
  // lists the existing ones.
  virtual Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) = 0;
  // Returns the number of edges in the split's part, over all partitions. NotFound: as for Count.
  virtual Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) = 0;
  // Returns the seeds of a step: batch_size or, in an epoch's last step, possibly fewer; none after it.
  virtual Result<GlobalBatch> SeedsOfStep(const SeedQuery& query, Deadline deadline) = 0;
  // Returns the global ids of original ids, in the same order; OutOfRange names an id that does not exist.
  virtual Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                        Deadline deadline) = 0;
};

// Returns the share of a global batch that one trainer takes: a pure function of (batch, book, number of trainers,
// rank). The sizes of shares differ by at most one (lower ranks take the remainder). A seed of partition p goes to rank
// p modulo num_trainers while that rank has room; the remaining seeds fill the ranks with room in ascending order. Each
// share is in batch order.
std::vector<GlobalNodeId> ShareOfBatch(const GlobalBatch& batch, const graph::PartitionBook& book, NodeTypeId type,
                                       uint32_t num_trainers, Rank rank);
// Returns the positions of the same share in the batch, ascending. An edge is assigned by its destination, whose node
// type is `type`.
std::vector<uint32_t> PositionsOfShare(const GlobalBatch& batch, const graph::PartitionBook& book, NodeTypeId type,
                                       uint32_t num_trainers, Rank rank);
// The same for a batch of edges with destinations of several node types: edge i has the destination type
// destination_types[batch.types[i]].
std::vector<uint32_t> PositionsOfShare(const GlobalBatch& batch, const graph::PartitionBook& book,
                                       std::span<const NodeTypeId> destination_types, uint32_t num_trainers, Rank rank);

}  // namespace espalier::sampler
