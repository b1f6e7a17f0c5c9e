// Labels of parallel edges: a split selects one of them by its edge number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/graph/preprocess.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::TestGraph;

constexpr char kPayments[] = "payments";
constexpr uint64_t kAccounts = 10, kTransfers = 120, kTrained = 80;
constexpr uint32_t kPayeeSteps[] = {1, 9, 3};  // one for every 40 edges

// Of 40 consecutive edges, four have the same ends. Returns the first edge with the ends of `edge`.
uint64_t FindFirstParallel(uint64_t edge) { return edge / 40 * 40 + edge % 10; }

// Transfers from accounts to accounts, or to shops: from each to the next one, the previous one and a third one. The
// amount of edge i is i. The split has every edge once, in another order.
graph::SourceGraph Transfers(bool to_shops) {
  graph::SourceGraph source;
  source.name = "transfers";
  source.schema = to_shops ? *graph::GraphSchema::Make({"account", "shop"}, {{"account", "pays", "shop"}})
                           : *graph::GraphSchema::Make({"account"}, {{"account", "pays", "account"}});
  source.nodes.assign(to_shops ? 2 : 1, {.count = kAccounts});
  std::vector<uint32_t> from, to;
  std::vector<int64_t> amounts, times;
  for (uint32_t i = 0; i < kTransfers; ++i) {
    from.push_back(i % kAccounts);
    to.push_back((i % kAccounts + kPayeeSteps[i / 40]) % kAccounts);
    amounts.push_back(i);
    times.push_back(-int64_t{i});
  }
  graph::EdgeSplit& split = source.edge_splits[kPayments][0];
  for (uint64_t i = 0; i < kTransfers; ++i) {
    const uint64_t edge = i * 7 % kTransfers;
    graph::EdgePairs& part = i < kTrained ? split.train : split.test;
    part.sources.push_back(from[edge]);
    part.destinations.push_back(to[edge]);
    part.edge_ids.push_back(edge);
  }
  source.edges.push_back(
      {.sources = Tensor::FromVector(std::move(from)),
       .destinations = Tensor::FromVector(std::move(to)),
       .columns = {{"amount", Tensor::FromVector(std::move(amounts))}, {"when", Tensor::FromVector(std::move(times))}},
       .original_ids = {}});
  return source;
}

// Returns the labels of a whole part, in its order or shuffled.
Result<std::vector<int64_t>> ReadAmounts(const TestGraph& test, EdgeTypeId type, graph::SplitPartName part,
                                         bool shuffle = false) {
  sampler::SeedQuery query{.split = kPayments, .part = part, .shuffle = shuffle, .seed = 5, .batch_size = kTransfers};
  query.edge_types = {type};
  query.edge_column = "amount";
  ASSIGN_OR_RETURN(const sampler::GlobalBatch batch, test.graph->SeedsOfStep(query, Soon()));
  const auto amounts = batch.rows.values<int64_t>();
  return std::vector<int64_t>(amounts.begin(), amounts.end());
}

std::vector<int64_t> ExpectedAmounts(uint64_t first, uint64_t last) {
  std::vector<int64_t> amounts;
  for (uint64_t i = first; i < last; ++i) amounts.push_back(static_cast<int64_t>(i * 7 % kTransfers));
  return amounts;
}

TEST(ParallelEdgeLabelsTest, BelongToEdgesOfSplit) {
  const graph::SourceGraph source = Transfers(/*to_shops=*/false);
  for (const uint32_t num_partitions : {1u, 4u}) {
    for (const std::string time_column : {"", "when"}) {  // "when" reverses the order of parallel edges
      const TestGraph test = testing::MakeTestGraph(source, num_partitions, 7, {.time_column = time_column});
      const auto train = ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTrain);
      ASSERT_TRUE(train.ok()) << train.status().ToString();
      EXPECT_THAT(*train, ElementsAreArray(ExpectedAmounts(0, kTrained)));
      EXPECT_THAT(*ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTest),
                  ElementsAreArray(ExpectedAmounts(kTrained, kTransfers)));
      const auto shuffled = ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTrain, /*shuffle=*/true);
      ASSERT_TRUE(shuffled.ok());
      const sampler::SeedOrder order({.seed = 5}, kTrained);
      for (uint64_t i = 0; i < kTrained; ++i) {
        EXPECT_EQ((*shuffled)[i], static_cast<int64_t>(order.OrdinalAt(i) * 7 % kTransfers));
      }
    }
  }
}

TEST(ParallelEdgeLabelsTest, SurviveAddedReverses) {
  const graph::SourceGraph both_ways = *graph::Preprocess(Transfers(false), {.add_reverse_edges = true}, 1);
  const TestGraph test = testing::MakeTestGraph(both_ways, 3, 7);  // reverses of edges 0-39 are parallel to 40-79
  EXPECT_THAT(*ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTrain),
              ElementsAreArray(ExpectedAmounts(0, kTrained)));

  const graph::SourceGraph typed = *graph::Preprocess(Transfers(true), {.add_reverse_edges = true}, 1);
  const TestGraph of_shops = testing::MakeTestGraph(typed, 3, 7);
  for (const char* const relation : {"pays", "rev_pays"}) {
    EXPECT_THAT(*ReadAmounts(of_shops, *typed.schema.FindEdgeType(relation), graph::SplitPartName::kTrain),
                ElementsAreArray(ExpectedAmounts(0, kTrained)))
        << relation;
  }
}

// The remaining edge represents the dropped duplicates.
TEST(ParallelEdgeLabelsTest, UseFirstOfDroppedDuplicates) {
  const graph::SourceGraph single = *graph::Preprocess(Transfers(false), {.drop_duplicate_edges = true}, 1);
  const TestGraph test = testing::MakeTestGraph(single, 3, 7);
  std::vector<int64_t> expected;
  for (const int64_t edge : ExpectedAmounts(0, kTrained)) {
    expected.push_back(static_cast<int64_t>(FindFirstParallel(static_cast<uint64_t>(edge))));
  }
  EXPECT_THAT(*ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTrain), ElementsAreArray(expected));
}

TEST(ParallelEdgeLabelsTest, AreRefusedIfOnlyEndpointsAreNamed) {
  graph::SourceGraph source = Transfers(false);
  source.edge_splits[kPayments][0].train.edge_ids = {};
  const TestGraph test = testing::MakeTestGraph(source, 3, 7);
  const Status refused = ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTrain).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("name the split's edges by their numbers"));
  EXPECT_TRUE(ReadAmounts(test, EdgeTypeId(0), graph::SplitPartName::kTest).ok());
}

}  // namespace
}  // namespace espalier::shard
