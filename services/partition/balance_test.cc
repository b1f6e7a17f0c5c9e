// Compares the balance constraints with values counted by hand.
#include "services/partition/balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/partition/testing/small_graphs.h"

namespace espalier::partition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// a0 -> b0 twice, a1 -> b0, a self loop at b1. Split "public" trains on b1, "other" on a0. Type c has no nodes.
graph::SourceGraph TwoAndTwo() {
  graph::SourceGraph graph;
  graph.schema = *graph::GraphSchema::Make({"a", "b", "c"}, {{"a", "to", "b"}, {"b", "to", "b"}});
  graph.nodes.resize(3);
  graph.nodes[0].count = graph.nodes[1].count = 2;
  graph.edges.resize(2);
  graph.edges[0].sources = Tensor::FromVector(std::vector<uint32_t>{0, 0, 1});
  graph.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{0, 0, 0});
  graph.edges[1].sources = Tensor::FromVector(std::vector<uint32_t>{1});
  graph.edges[1].destinations = Tensor::FromVector(std::vector<uint32_t>{1});
  graph.splits["public"][1].train = {1};
  graph.splits["other"][0].train = {0};
  return graph;
}

TEST(VertexWeightsTest, CountNodesByDefault) {
  const auto weights = MakeVertexWeights(TwoAndTwo(), {.num_partitions = 2});
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_THAT(weights->names, ElementsAre("nodes"));
  EXPECT_THAT(weights->totals, ElementsAre(4));
  EXPECT_THAT(weights->weights, ElementsAre(1, 1, 1, 1));
}

TEST(VertexWeightsTest, CombineActiveConstraints) {
  const auto weights = MakeVertexWeights(
      TwoAndTwo(),
      {.num_partitions = 2,
       .balance = {BalanceConstraint::kNodeTypes, BalanceConstraint::kEdges, BalanceConstraint::kTrainNodes},
       .train_split = "public"});
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_THAT(weights->names, ElementsAre("nodes:a", "nodes:b", "train-nodes", "edges"));
  EXPECT_THAT(weights->totals, ElementsAre(2, 2, 1, 4));
  EXPECT_THAT(weights->weights, ElementsAre(1, 0, 0, 0,    //
                                            1, 0, 0, 0,    //
                                            0, 1, 0, 3,    //
                                            0, 1, 1, 1));  // its self loop counts
}

TEST(VertexWeightsTest, UseAllSplitsIfNoneIsNamed) {
  const auto weights =
      MakeVertexWeights(TwoAndTwo(), {.num_partitions = 2, .balance = {BalanceConstraint::kTrainNodes}});
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_THAT(weights->names, ElementsAre("nodes", "train-nodes"));
  EXPECT_THAT(weights->weights, ElementsAre(1, 1, 1, 0, 1, 0, 1, 1));
}

TEST(VertexWeightsTest, OmitEmptyConstraints) {
  const auto weights = MakeVertexWeights(
      testing::GraphOf(3, {}),
      {.num_partitions = 2,
       .balance = {BalanceConstraint::kNodeTypes, BalanceConstraint::kEdges, BalanceConstraint::kTrainNodes}});
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_THAT(weights->names, ElementsAre("nodes"));
}

TEST(VertexWeightsTest, ErrorsListSplits) {
  const Status refused =
      MakeVertexWeights(TwoAndTwo(),
                        {.num_partitions = 2, .balance = {BalanceConstraint::kTrainNodes}, .train_split = "privat"})
          .status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("'privat', it has: other, public"));
}

}  // namespace
}  // namespace espalier::partition
