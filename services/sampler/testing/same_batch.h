// Comparison of all fields of two mini-batches.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "services/sampler/batches/mini_batch.h"

namespace espalier::sampler::testing {

inline void ExpectSameRows(const Tensor& made, const Tensor& expected) {
  EXPECT_EQ(made.ToString(), expected.ToString());
  EXPECT_TRUE(std::ranges::equal(made.byte_span(), expected.byte_span()));
}

inline void ExpectSameLinks(const LinkSeeds& made, const LinkSeeds& expected) {
  EXPECT_EQ(made.negatives_per_pair, expected.negatives_per_pair);
  EXPECT_EQ(made.sources, expected.sources);
  EXPECT_EQ(made.destinations, expected.destinations);
  EXPECT_EQ(made.relations, expected.relations);
  EXPECT_EQ(made.set_ends, expected.set_ends);
  EXPECT_EQ(made.negative_destinations, expected.negative_destinations);
  EXPECT_EQ(made.negative_sources, expected.negative_sources);
  EXPECT_EQ(made.negative_weights, expected.negative_weights);
  EXPECT_EQ(made.edge_ids, expected.edge_ids);
  ASSERT_EQ(made.rows.size(), expected.rows.size());
  for (const auto& [column, rows] : expected.rows) {
    ASSERT_TRUE(made.rows.contains(column)) << column;
    ExpectSameRows(made.rows.at(column), rows);
  }
}

inline void ExpectSameEdges(const EdgeSeeds& made, const EdgeSeeds& expected) {
  EXPECT_EQ(made.sources, expected.sources);
  EXPECT_EQ(made.destinations, expected.destinations);
  ExpectSameRows(made.labels, expected.labels);
}

inline void ExpectSameBatch(const MiniBatch& made, const MiniBatch& expected) {
  EXPECT_EQ(made.epoch, expected.epoch);
  EXPECT_EQ(made.step, expected.step);
  EXPECT_EQ(made.seed_type, expected.seed_type);
  EXPECT_EQ(made.num_seeds, expected.num_seeds);
  EXPECT_EQ(made.global_num_seeds, expected.global_num_seeds);
  EXPECT_EQ(made.nodes, expected.nodes);
  EXPECT_EQ(made.times, expected.times);
  ASSERT_EQ(made.links.has_value(), expected.links.has_value());
  if (made.links.has_value()) ExpectSameLinks(*made.links, *expected.links);
  ASSERT_EQ(made.edges.has_value(), expected.edges.has_value());
  if (made.edges.has_value()) ExpectSameEdges(*made.edges, *expected.edges);
  ASSERT_EQ(made.layers.size(), expected.layers.size());
  for (size_t l = 0; l < made.layers.size(); ++l) {
    const BatchLayer& layer = made.layers[l];
    EXPECT_EQ(layer.num_inputs, expected.layers[l].num_inputs);
    EXPECT_EQ(layer.num_outputs, expected.layers[l].num_outputs);
    ASSERT_EQ(layer.blocks.size(), expected.layers[l].blocks.size());
    for (size_t i = 0; i < layer.blocks.size(); ++i) {
      const Block& block = expected.layers[l].blocks[i];
      EXPECT_EQ(layer.blocks[i].edge_type, block.edge_type);
      EXPECT_EQ(layer.blocks[i].indptr, block.indptr);
      EXPECT_EQ(layer.blocks[i].indices, block.indices);
      EXPECT_EQ(layer.blocks[i].edge_ids, block.edge_ids);
    }
  }
}

}  // namespace espalier::sampler::testing
