#include "services/graph/testing/small_graphs.h"

namespace espalier::graph::testing {
namespace {

void AddBothWays(EdgeList& edges, uint64_t u, uint64_t v) {
  edges.emplace_back(static_cast<uint32_t>(u), static_cast<uint32_t>(v));
  edges.emplace_back(static_cast<uint32_t>(v), static_cast<uint32_t>(u));
}

EdgeSet MakeEdges(const EdgeList& edges) {
  std::vector<uint32_t> sources, destinations;
  for (const auto& [source, destination] : edges) {
    sources.push_back(source);
    destinations.push_back(destination);
  }
  return {.sources = Tensor::FromVector(std::move(sources)),
          .destinations = Tensor::FromVector(std::move(destinations))};
}

NodeSet MakeNodes(uint64_t count, int64_t num_classes) {
  std::vector<float> features;
  std::vector<int64_t> labels;
  for (uint64_t i = 0; i < count; ++i) {
    features.push_back(static_cast<float>(i));
    features.push_back(static_cast<float>(i) + 0.5f);
    labels.push_back(static_cast<int64_t>(i) % num_classes);
  }
  NodeSet nodes{.count = count};
  nodes.columns["node-feat"] = Tensor::FromVector(std::move(features), {static_cast<int64_t>(count), 2});
  nodes.columns["node-label"] = Tensor::FromVector(std::move(labels));
  return nodes;
}

NodeSplit SplitByRemainder(uint64_t count) {
  NodeSplit split;
  for (uint64_t i = 0; i < count; ++i) {
    (i % 3 == 0 ? split.train : i % 3 == 1 ? split.validation : split.test).push_back(i);
  }
  return split;
}

GraphSchema MakeSchema(std::vector<std::string> node_types, std::vector<CanonicalEdgeType> edge_types) {
  Result<GraphSchema> schema = GraphSchema::Make(std::move(node_types), std::move(edge_types));
  ESPALIER_CHECK(schema.ok()) << schema.status().ToString();
  return *std::move(schema);
}

}  // namespace

SourceGraph HomogeneousGraph(uint64_t num_nodes, const EdgeList& edges) {
  SourceGraph graph{.name = "small", .schema = MakeSchema({"node"}, {{"node", "edge", "node"}})};
  graph.nodes.push_back(MakeNodes(num_nodes, 3));
  graph.edges.push_back(MakeEdges(edges));
  graph.splits["public"][0] = SplitByRemainder(num_nodes);
  return graph;
}

SourceGraph PathGraph(uint64_t num_nodes) {
  EdgeList edges;
  for (uint64_t i = 1; i < num_nodes; ++i) AddBothWays(edges, i - 1, i);
  return HomogeneousGraph(num_nodes, edges);
}

SourceGraph StarGraph(uint64_t num_nodes) {
  EdgeList edges;
  for (uint64_t i = 1; i < num_nodes; ++i) AddBothWays(edges, 0, i);
  return HomogeneousGraph(num_nodes, edges);
}

SourceGraph GridGraph(uint64_t rows, uint64_t columns) {
  EdgeList edges;
  for (uint64_t node = 0; node < rows * columns; ++node) {
    if (node % columns + 1 < columns) AddBothWays(edges, node, node + 1);
    if (node / columns + 1 < rows) AddBothWays(edges, node, node + columns);
  }
  return HomogeneousGraph(rows * columns, edges);
}

SourceGraph TypedExample() {
  SourceGraph graph{
      .name = "typed",
      .schema = MakeSchema({"author", "paper", "venue"},
                           {{"author", "writes", "paper"}, {"paper", "cites", "paper"}, {"venue", "prints", "paper"}})};
  NodeSet authors{.count = 2};
  authors.columns["node-feat"] = Tensor::FromVector(std::vector<float>{0, 10}, {2, 1});
  graph.nodes = {authors, MakeNodes(3, 2), NodeSet{}};
  EdgeSet writes = MakeEdges({{0, 0}, {0, 1}, {1, 1}, {1, 2}});
  writes.columns["weight"] = Tensor::FromVector(std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f});
  graph.edges = {writes, MakeEdges({{1, 0}, {2, 0}, {2, 1}}), MakeEdges({})};
  graph.splits["public"][1] = SplitByRemainder(3);
  return graph;
}

EdgeList EdgesOf(const EdgeSet& edges) {
  EdgeList list;
  for (int64_t i = 0; i < edges.sources.num_rows(); ++i) {
    list.emplace_back(static_cast<uint32_t>(edges.sources.ValueAsInt(i)),
                      static_cast<uint32_t>(edges.destinations.ValueAsInt(i)));
  }
  return list;
}

}  // namespace espalier::graph::testing
