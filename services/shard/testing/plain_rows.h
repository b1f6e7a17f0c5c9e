// Fixtures for tests of learnable rows: a small graph, plain rows on it, and gradients for them.
#pragma once

#include <vector>

#include "services/graph/generators.h"
#include "services/sampler/access/partition_embeddings.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard::testing {

inline graph::SourceGraph FiftyNodes() {
  graph::PowerLawOptions options;
  options.num_nodes = 50;
  options.num_edges = 200;
  options.seed = 3;
  Result<graph::SourceGraph> graph = graph::GeneratePowerLawGraph(options, 1);
  ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
  return *std::move(graph);
}

// Rows of two values, initially 1, updated by plain gradient descent.
inline sampler::EmbeddingSpec Descent(uint32_t num_trainers) {
  return {.id = {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)), .name = "emb"},
          .width = 2,
          .initializer = sampler::Initializer::Constant(1),
          .optimizer = {.type = sampler::SparseOptimizerType::kSgd},
          .num_trainers = num_trainers};
}

inline sampler::GradientPiece MakeGradients(uint64_t step, uint32_t rank, std::vector<LocalRowId> rows, float value) {
  sampler::GradientPiece piece{.step = step, .rank = Rank(rank), .learning_rate = 0.5, .rows = std::move(rows)};
  const auto count = static_cast<int64_t>(piece.rows.size());
  piece.gradients = Tensor::FromVector(std::vector<float>(piece.rows.size() * 2, value), {count, 2});
  return piece;
}

}  // namespace espalier::shard::testing
