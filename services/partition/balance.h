// What a partitioning balances, as weights of vertices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// Weights of every vertex (undirected_graph.h numbers them) under each constraint; a partition's share of a
// constraint is the sum over its vertices.
struct VertexWeights {
  std::vector<std::string> names;  // "nodes", "nodes:paper", "train-nodes", "edges"
  std::vector<uint64_t> totals;    // as names, > 0
  std::vector<int32_t> weights;    // [vertices * names.size()], a vertex's side by side

  size_t num_constraints() const { return names.size(); }
};

// The constraints of options.balance that bind: all nodes, or each node type instead (together they imply it);
// training nodes; in-edges. What no node counts towards is left out. InvalidArgument for a train_split that the graph
// does not have.
Result<VertexWeights> MakeVertexWeights(const graph::SourceGraph& graph, const PartitionOptions& options);

// In-edges of every vertex over all edge types.
std::vector<uint32_t> InDegrees(const graph::SourceGraph& graph, int threads);

// Calls body(node type, original id) for every training node of the split, or of every split where it is empty; a
// node may come more than once then. InvalidArgument where the graph has no such split.
Status ForTrainingNodes(const graph::SourceGraph& graph, const std::string& train_split,
                        const std::function<void(NodeTypeId, uint64_t)>& body);

}  // namespace espalier::partition
