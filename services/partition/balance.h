// The balance constraints of a partitioning, as vertex weights.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

// The weight of every vertex (numbered as in undirected_graph.h) under each constraint. A partition's load under a
// constraint is the sum of its vertices' weights.
struct VertexWeights {
  std::vector<std::string> names;  // "nodes", "nodes:paper", "train-nodes", "edges"
  std::vector<uint64_t> totals;    // by constraint: the sum over all vertices, > 0
  std::vector<int32_t> weights;    // [vertices, constraints], row-major; 2^31 - 1 also stands for larger weights

  size_t num_constraints() const { return names.size(); }
};

// Returns the weights for balancing nodes, training nodes (only if options.balance contains kTrainNodes) and in-edges
// (only with kEdges). Nodes are balanced as one total or, with kNodeTypes, with one constraint for each node type.
// Omits constraints under which all weights are 0. Errors: those of ForTrainingNodes, with kTrainNodes.
Result<VertexWeights> MakeVertexWeights(const graph::SourceGraph& graph, const PartitionOptions& options);

// Returns the number of in-edges over all edge types by vertex: [vertices]. The edges must have passed CheckEdges.
std::vector<uint32_t> CountInEdges(const graph::SourceGraph& graph, int threads);

// Calls body(node type, original ID) for every training node of the split. If `train_split` is empty, covers the
// training nodes of all splits; body is then called several times for a node that several splits contain.
// InvalidArgument if the graph has no such split; errors of CheckSplits.
Status ForTrainingNodes(const graph::SourceGraph& graph, const std::string& train_split,
                        const std::function<void(NodeTypeId, uint64_t)>& body);

}  // namespace espalier::partition
