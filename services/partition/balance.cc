// The weights of each constraint are computed as an array by vertex. The arrays are then interleaved, as METIS expects
// them.
#include "services/partition/balance.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "services/base/parallel.h"
#include "services/graph/id_values.h"
#include "services/partition/input_checks.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {
namespace {

// Larger weights are stored as this one.
constexpr uint32_t kMaxVertexWeight = std::numeric_limits<int32_t>::max();

// One constraint, before the weights of all constraints are interleaved.
struct Constraint {
  std::string name;
  std::vector<uint32_t> weight_of_vertex;
};

bool IsRequested(const PartitionOptions& options, BalanceConstraint constraint) {
  return std::find(options.balance.begin(), options.balance.end(), constraint) != options.balance.end();
}

std::vector<Constraint> MakeNodeConstraints(const graph::SourceGraph& graph, const std::vector<uint64_t>& vertex_first,
                                            bool by_type) {
  if (!by_type) return {{"nodes", std::vector<uint32_t>(vertex_first.back(), 1)}};
  std::vector<Constraint> constraints;
  for (size_t type = 0; type < graph.nodes.size(); ++type) {
    if (graph.nodes[type].count == 0) continue;
    Constraint& constraint = constraints.emplace_back();
    constraint.name = "nodes:" + graph.schema.node_types()[type];
    constraint.weight_of_vertex.assign(vertex_first.back(), 0);
    std::fill(constraint.weight_of_vertex.begin() + static_cast<int64_t>(vertex_first[type]),
              constraint.weight_of_vertex.begin() + static_cast<int64_t>(vertex_first[type + 1]), 1);
  }
  return constraints;
}

// Interleaves the weights of the constraints; omits constraints without weight.
VertexWeights InterleaveWeights(const std::vector<Constraint>& constraints, uint64_t num_vertices) {
  VertexWeights weights;
  std::vector<const Constraint*> used;
  for (const Constraint& constraint : constraints) {
    uint64_t total = 0;
    for (const uint32_t weight : constraint.weight_of_vertex) total += weight;
    if (total == 0) continue;
    weights.names.push_back(constraint.name);
    weights.totals.push_back(total);
    used.push_back(&constraint);
  }
  weights.weights.reserve(num_vertices * used.size());
  for (uint64_t vertex = 0; vertex < num_vertices; ++vertex) {
    for (const Constraint* constraint : used) {
      const uint32_t weight = std::min(constraint->weight_of_vertex[vertex], kMaxVertexWeight);
      weights.weights.push_back(static_cast<int32_t>(weight));
    }
  }
  return weights;
}

}  // namespace

std::vector<uint32_t> CountInEdges(const graph::SourceGraph& graph, int threads) {
  const std::vector<uint64_t> vertex_first = VertexFirst(graph);
  std::vector<uint32_t> degrees(vertex_first.back(), 0);
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    const graph::EdgeSet& edges = graph.edges[type];
    const uint64_t first = vertex_first[graph.schema.DestinationOf(EdgeTypeId(type)).value];
    graph::VisitIds(edges.destinations, [&](auto destinations) {
      ParallelFor(threads, static_cast<int64_t>(edges.num_edges()), kCheapGrain, [&](int64_t begin, int64_t end) {
        for (auto edge = static_cast<size_t>(begin); edge < static_cast<size_t>(end); ++edge) {
          std::atomic_ref<uint32_t>(degrees[first + graph::ToId(destinations[edge])])
              .fetch_add(1, std::memory_order_relaxed);
        }
      });
    });
  }
  return degrees;
}

Status ForTrainingNodes(const graph::SourceGraph& graph, const std::string& train_split,
                        const std::function<void(NodeTypeId, uint64_t)>& body) {
  if (!train_split.empty() && !graph.splits.contains(train_split)) {
    std::string names;
    for (const auto& [name, unused] : graph.splits) names += (names.empty() ? "" : ", ") + name;
    return InvalidArgument("balancing training nodes: the graph has no split '" + train_split +
                           "', it has: " + (names.empty() ? "none" : names));
  }
  RETURN_IF_ERROR(CheckSplits(graph));
  for (const auto& [name, split_of_type] : graph.splits) {
    if (!train_split.empty() && name != train_split) continue;
    for (const auto& [type, split] : split_of_type) {
      for (const uint64_t node : split.train) body(NodeTypeId(type), node);
    }
  }
  return Status();
}

Result<VertexWeights> MakeVertexWeights(const graph::SourceGraph& graph, const PartitionOptions& options) {
  const std::vector<uint64_t> vertex_first = VertexFirst(graph);
  const bool by_type = IsRequested(options, BalanceConstraint::kNodeTypes) && graph.nodes.size() > 1;
  std::vector<Constraint> constraints = MakeNodeConstraints(graph, vertex_first, by_type);
  if (IsRequested(options, BalanceConstraint::kTrainNodes)) {
    Constraint train{"train-nodes", std::vector<uint32_t>(vertex_first.back(), 0)};
    RETURN_IF_ERROR(ForTrainingNodes(graph, options.train_split, [&](NodeTypeId type, uint64_t node) {
      train.weight_of_vertex[vertex_first[type.value] + node] = 1;
    }));
    constraints.push_back(std::move(train));
  }
  if (IsRequested(options, BalanceConstraint::kEdges)) {
    constraints.push_back({"edges", CountInEdges(graph, options.threads)});
  }
  return InterleaveWeights(constraints, vertex_first.back());
}

}  // namespace espalier::partition
