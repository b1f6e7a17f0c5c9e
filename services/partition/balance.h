// The balance constraints of a partitioning, as vertex weights.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// The weight of every vertex (numbered as in undirected_graph.h) under each constraint. A partition's load under a
// constraint is the sum over its vertices.
struct VertexWeights {
  std::vector<std::string> names;  // "nodes", "nodes:paper", "train-nodes", "edges"
  std::vector<uint64_t> totals;    // by constraint, > 0
  std::vector<int32_t> weights;    // [vertices, constraints], row-major

  size_t num_constraints() const { return names.size(); }
};

// Returns the weights of the constraints in options.balance: the number of nodes (in total, or of each node type, which
// implies the total), of training nodes and of in-edges. Omits constraints under which all weights are 0.
// InvalidArgument for a train_split that the graph does not have.
Result<VertexWeights> MakeVertexWeights(const graph::SourceGraph& graph, const PartitionOptions& options);

// Returns the number of in-edges over all edge types by vertex: [vertices].
std::vector<uint32_t> InDegrees(const graph::SourceGraph& graph, int threads);

// Calls body(node type, original id) for every training node of the split. If `train_split` is empty, covers the
// training nodes of all splits; a node that several splits contain is then passed more than once. InvalidArgument if
// the graph has no such split; errors of CheckSplits.
Status ForTrainingNodes(const graph::SourceGraph& graph, const std::string& train_split,
                        const std::function<void(NodeTypeId, uint64_t)>& body);

}  // namespace espalier::partition
