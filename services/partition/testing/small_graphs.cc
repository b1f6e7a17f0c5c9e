#include "services/partition/testing/small_graphs.h"

#include "services/base/philox.h"

namespace espalier::partition::testing {
namespace {

graph::EdgeSet EdgeSetOf(const Edges& edges) {
  std::vector<uint32_t> sources, destinations;
  for (const auto& [source, destination] : edges) {
    sources.push_back(source);
    destinations.push_back(destination);
  }
  graph::EdgeSet set;
  set.sources = Tensor::FromVector(std::move(sources));
  set.destinations = Tensor::FromVector(std::move(destinations));
  return set;
}

void AddBothWays(uint32_t u, uint32_t v, Edges* edges) {
  edges->push_back({u, v});
  edges->push_back({v, u});
}

// Returns both directions of each edge, with `times_in_a_row` copies of the edges within a row.
Edges EdgesOfGrid(uint32_t rows, uint32_t columns, int times_in_a_row) {
  Edges edges;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < columns; ++c) {
      const uint32_t node = r * columns + c;
      for (int i = 0; c + 1 < columns && i < times_in_a_row; ++i) AddBothWays(node, node + 1, &edges);
      if (r + 1 < rows) AddBothWays(node, node + columns, &edges);
    }
  }
  return edges;
}

Edges RandomEdges(uint32_t count, uint32_t num_sources, uint32_t num_destinations, uint64_t seed) {
  PhiloxStream random(seed, 0);
  Edges edges;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t source = random.NextBelow(num_sources);
    edges.push_back({source, random.NextBelow(num_destinations)});
  }
  return edges;
}

// Returns a tensor [rows, columns] with the value row + column / 100 at each place.
Tensor NumberedRows(int64_t rows, int64_t columns) {
  Tensor tensor = Tensor::Zeros(DType::kF32, {rows, columns});
  const std::span<float> values = tensor.mutable_values<float>();
  for (int64_t i = 0; i < rows * columns; ++i) {
    values[static_cast<size_t>(i)] = static_cast<float>(i / columns) + static_cast<float>(i % columns) / 100;
  }
  return tensor;
}

Tensor Years(uint32_t count, uint64_t seed) {
  PhiloxStream random(seed, 1);
  std::vector<int32_t> years;
  for (uint32_t i = 0; i < count; ++i) years.push_back(static_cast<int32_t>(random.NextBelow(5)) - 2);
  return Tensor::FromVector(std::move(years));
}

Tensor Labels(uint32_t count) {
  std::vector<int64_t> labels;
  for (uint32_t i = 0; i < count; ++i) labels.push_back(i % 7);
  return Tensor::FromVector(std::move(labels));
}

graph::NodeSplit EveryFourth(uint32_t count) {
  graph::NodeSplit split;
  for (uint32_t i = 0; i < count; ++i) {
    if (i % 4 == 0) split.train.push_back(i);
    if (i % 4 == 1) split.validation.push_back(i);
    if (i % 4 == 2) split.test.push_back(i);
  }
  return split;
}

}  // namespace

graph::SourceGraph GraphOf(uint64_t num_nodes, const Edges& edges) {
  graph::SourceGraph graph;
  graph.name = "test";
  graph.schema = *graph::GraphSchema::Make({"node"}, {{"node", "to", "node"}});
  graph.nodes.resize(1);
  graph.nodes[0].count = num_nodes;
  graph.edges.push_back(EdgeSetOf(edges));
  return graph;
}

graph::SourceGraph GridGraph(uint32_t rows, uint32_t columns) {
  return GraphOf(uint64_t{rows} * columns, EdgesOfGrid(rows, columns, /*times_in_a_row=*/1));
}

graph::SourceGraph GridOfStrongRows(uint32_t rows, uint32_t columns) {
  return GraphOf(uint64_t{rows} * columns, EdgesOfGrid(rows, columns, /*times_in_a_row=*/10));
}

graph::SourceGraph CommunityGraph(uint32_t communities, uint32_t size, uint32_t inside, uint32_t across,
                                  uint64_t seed) {
  PhiloxStream random(seed, 0);
  const uint32_t num_nodes = communities * size;
  Edges edges;
  for (uint32_t node = 0; node < num_nodes; ++node) {
    for (uint32_t i = 0; i < inside; ++i) {
      AddBothWays(node, random.NextBelow(size) * communities + node % communities, &edges);
    }
    for (uint32_t i = 0; i < across; ++i) AddBothWays(node, random.NextBelow(num_nodes), &edges);
  }
  return GraphOf(num_nodes, edges);
}

graph::SourceGraph TypedGraph(uint32_t num_authors, uint64_t seed) {
  const uint32_t num_papers = 3 * num_authors, num_writes = 5 * num_papers, num_cites = 4 * num_papers;
  graph::SourceGraph graph;
  graph.name = "typed";
  // In the order of their IDs, which are sorted by name.
  graph.schema = *graph::GraphSchema::Make(
      {"author", "paper", "venue"},
      {{"author", "writes", "paper"}, {"paper", "appears", "venue"}, {"paper", "cites", "paper"}});
  graph.nodes.resize(3);
  graph.nodes[0].count = num_authors;
  graph.nodes[1].count = num_papers;
  graph.nodes[1].columns["feature"] = NumberedRows(num_papers, 3);
  graph.nodes[1].columns["label"] = Labels(num_papers);

  graph.edges.push_back(EdgeSetOf(RandomEdges(num_writes, num_authors, num_papers, seed)));
  graph.edges[0].columns["year"] = Years(num_writes, seed);
  graph.edges[0].columns["weight"] = NumberedRows(num_writes, 2);
  graph.edges.push_back(EdgeSetOf({}));
  Edges cites = RandomEdges(num_cites, num_papers, num_papers, seed + 1);
  for (uint32_t i = 0; i < 10; ++i) cites.push_back(cites[i]);  // parallel edges
  for (uint32_t i = 0; i < 10; ++i) cites.push_back({i, i});    // self loops
  graph.edges.push_back(EdgeSetOf(cites));
  graph.splits["public"][1] = EveryFourth(num_papers);
  return graph;
}

}  // namespace espalier::partition::testing
