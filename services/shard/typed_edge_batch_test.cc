// Batches of labeled edges between two node types, compared with enumeration: each end has its node type, batches are
// the same for any number of partitions and trainers, and no drawn edge is excluded by the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <tuple>

#include "services/graph/preprocess.h"
#include "services/sampler/batches/edge_batch.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using testing::TestGraph;

constexpr uint64_t kReviewSeed = 41, kReviewsPerStep = 20;
constexpr uint32_t kReviewEpoch = 3, kReviewSteps = 3;
constexpr uint32_t kReaders = 24, kBooks = 36;
constexpr char kReviewed[] = "reviewed";

// (source, destination, label) in original ids.
using Review = std::tuple<uint64_t, uint64_t, int64_t>;

int64_t ComputeStars(uint64_t reader, uint64_t book) { return static_cast<int64_t>((reader * 5 + book * 3) % 7); }

// Each reader reviews three books, and books cite books, with the reverse relations of both. Three of four reviews are
// training edges.
graph::SourceGraph Reviews() {
  graph::SourceGraph source;
  source.name = "reviews";
  source.schema =
      *graph::GraphSchema::Make({"book", "reader"}, {{"book", "cites", "book"}, {"reader", "reviews", "book"}});
  source.nodes.push_back({.count = kBooks});
  source.nodes.push_back({.count = kReaders});
  for (uint16_t type = 0; type < 2; ++type) {
    const bool reviews = source.schema.EdgeType(EdgeTypeId(type)).relation == "reviews";
    std::vector<uint32_t> from, to;
    std::vector<int64_t> stars;
    for (uint32_t i = 0; i < (reviews ? 3 * kReaders : kBooks); ++i) {
      from.push_back(reviews ? i % kReaders : i);
      to.push_back((reviews ? 7 * i + i / kReaders : 11 * i + 5) % kBooks);
      stars.push_back(ComputeStars(from.back(), to.back()));
      if (!reviews) continue;
      graph::EdgeSplit& split = source.edge_splits[kReviewed][type];
      graph::EdgePairs& part = i % 4 == 3 ? split.validation : split.train;
      part.sources.push_back(from.back());
      part.destinations.push_back(to.back());
    }
    source.edges.push_back({.sources = Tensor::FromVector(from), .destinations = Tensor::FromVector(to)});
    if (reviews) source.edges.back().columns["stars"] = Tensor::FromVector(std::move(stars));
  }
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

sampler::EpochPlan PlanOfReviews(EdgeTypeId type, std::optional<EdgeTypeId> exclude_reverse) {
  sampler::EpochPlan plan{.split = kReviewed, .batch_size = kReviewsPerStep};
  plan.seeds = sampler::EdgePlan{.edge_type = type,
                                 .label = "stars",
                                 .exclude_batch = exclude_reverse.has_value(),
                                 .exclude_reverse = exclude_reverse};
  return plan;
}

sampler::MiniBatch BatchOfReviews(const TestGraph& test, sampler::EpochPlan plan, uint32_t step,
                                  uint32_t num_trainers = 1, uint32_t rank = 0) {
  const graph::GraphSchema& schema = test.book.schema();
  plan.num_trainers = num_trainers;
  plan.rank = Rank(rank);
  ESPALIER_CHECK(sampler::CheckEdgePlan(*plan.edges(), schema).ok());
  const std::vector<int32_t> all(schema.num_edge_types(), sampler::kFullNeighborhood);
  auto sampler = sampler::FanoutSampler::Make(*test.graph, {.layers = {sampler::LayerSpec{all}}, .seed = kReviewSeed});
  ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
  auto batch = sampler::MakeEdgeBatch(*test.graph, *sampler, test.book, plan, kReviewSeed, kReviewEpoch, step,
                                      /*want_edge_ids=*/false, Soon());
  ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
  return *std::move(batch);
}

// Returns the step's training edges, computed from the split and the permutation only.
std::vector<Review> ReviewsOfStep(const graph::SourceGraph& source, EdgeTypeId type, uint32_t step) {
  const graph::EdgePairs& train = source.edge_splits.at(kReviewed).at(type.value).train;
  const bool forward = source.schema.EdgeType(type).relation == "reviews";
  sampler::SeedQuery query{.split = kReviewed, .seed = kReviewSeed, .epoch = kReviewEpoch};
  const sampler::SeedOrder order(query, train.size());
  const sampler::PositionRange range = sampler::PositionsOfStep(train.size(), kReviewsPerStep, step);
  std::vector<Review> reviews;
  for (uint64_t position = range.first; position < range.last; ++position) {
    const uint64_t u = train.sources[order.OrdinalAt(position)], v = train.destinations[order.OrdinalAt(position)];
    reviews.emplace_back(u, v, forward ? ComputeStars(u, v) : ComputeStars(v, u));
  }
  return reviews;
}

// Returns a batch's edges by original ids, after checking that every end has the node type that the edge type requires.
std::vector<Review> ListReviews(const TestGraph& test, EdgeTypeId type, const sampler::MiniBatch& batch) {
  std::vector<std::pair<NodeTypeId, uint64_t>> seeds;
  for (uint16_t node_type = 0; node_type < batch.nodes.size(); ++node_type) {
    const auto originals = testing::OriginalIds(*test.graph, NodeTypeId(node_type), batch.nodes[node_type]);
    for (uint32_t row = 0; row < batch.layers.back().num_outputs[node_type]; ++row) {
      seeds.emplace_back(NodeTypeId(node_type), originals[row]);
    }
  }
  EXPECT_EQ(seeds.size(), batch.num_seeds);
  const auto at = [&](uint32_t row, NodeTypeId expected) {
    EXPECT_EQ(seeds.at(row).first, expected);
    return seeds.at(row).second;
  };
  const graph::GraphSchema& schema = test.book.schema();
  std::vector<Review> reviews;
  for (size_t i = 0; i < batch.edges->sources.size(); ++i) {
    reviews.emplace_back(at(batch.edges->sources[i], schema.SourceOf(type)),
                         at(batch.edges->destinations[i], schema.DestinationOf(type)),
                         batch.edges->labels.values<int64_t>()[i]);
  }
  return reviews;
}

// For the reviews of readers and for the reverse relation, whose sources have the first node type.
TEST(TypedEdgeBatchTest, SharesAreTheStepsEdgesWithEndsOfBothTypes) {
  const graph::SourceGraph source = Reviews();
  for (const uint32_t num_partitions : {1u, 4u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 7);
    for (const char* const relation : {"reviews", "rev_reviews"}) {
      const EdgeTypeId type = *source.schema.FindEdgeType(relation);
      for (const uint32_t num_trainers : {1u, 3u}) {
        for (uint32_t step = 0; step < kReviewSteps; ++step) {
          const std::vector<Review> expected = ReviewsOfStep(source, type, step);
          ASSERT_FALSE(expected.empty());
          std::multiset<Review> taken;
          for (uint32_t rank = 0; rank < num_trainers; ++rank) {
            const sampler::MiniBatch batch = BatchOfReviews(test, PlanOfReviews(type, {}), step, num_trainers, rank);
            EXPECT_EQ(batch.global_num_seeds, expected.size());
            for (const Review& review : ListReviews(test, type, batch)) taken.insert(review);
          }
          EXPECT_EQ(taken, std::multiset<Review>(expected.begin(), expected.end()))
              << relation << " " << num_partitions << " " << num_trainers;
        }
      }
    }
  }
}

TEST(TypedEdgeBatchTest, AreTheSameForAnyPartitions) {
  const graph::SourceGraph source = Reviews();
  const EdgeTypeId type = *source.schema.FindEdgeType("reviews");
  const sampler::EpochPlan plan = PlanOfReviews(type, *source.schema.FindEdgeType("rev_reviews"));
  const TestGraph one = testing::MakeTestGraph(source, 1, 7), five = testing::MakeTestGraph(source, 5, 8);
  for (uint32_t step = 0; step < kReviewSteps; ++step) {
    const sampler::MiniBatch a = BatchOfReviews(one, plan, step), b = BatchOfReviews(five, plan, step);
    EXPECT_EQ(testing::ToPortable(*one.graph, a), testing::ToPortable(*five.graph, b));
    EXPECT_EQ(a.edges->sources, b.edges->sources);
    EXPECT_EQ(a.edges->destinations, b.edges->destinations);
    EXPECT_EQ(ListReviews(one, type, a), ReviewsOfStep(source, type, step));
  }
}

// Drawn in-edges of one relation: (source, destination) in original ids.
std::set<std::pair<uint64_t, uint64_t>> CollectDrawnEdges(const TestGraph& test, EdgeTypeId type,
                                                          const sampler::MiniBatch& batch) {
  const graph::GraphSchema& schema = test.book.schema();
  const NodeTypeId from = schema.SourceOf(type), to = schema.DestinationOf(type);
  const auto sources = testing::OriginalIds(*test.graph, from, batch.nodes[from.value]);
  const auto destinations = testing::OriginalIds(*test.graph, to, batch.nodes[to.value]);
  std::set<std::pair<uint64_t, uint64_t>> drawn;
  for (const sampler::Block& block : batch.layers.back().blocks) {
    if (block.edge_type != type) continue;
    for (size_t row = 0; row + 1 < block.indptr.size(); ++row) {
      for (uint32_t at = block.indptr[row]; at < block.indptr[row + 1]; ++at) {
        drawn.emplace(sources[block.indices[at]], destinations[row]);
      }
    }
  }
  return drawn;
}

TEST(TypedEdgeBatchTest, DrawNeitherTheStepsEdgesNorTheirReversesWhereThePlanExcludesThem) {
  const graph::SourceGraph source = Reviews();
  const EdgeTypeId there = *source.schema.FindEdgeType("reviews"), back = *source.schema.FindEdgeType("rev_reviews");
  const TestGraph test = testing::MakeTestGraph(source, 3, 7);
  const sampler::MiniBatch open = BatchOfReviews(test, PlanOfReviews(there, {}), 0);
  const sampler::MiniBatch hidden = BatchOfReviews(test, PlanOfReviews(there, back), 0);
  const auto seen = CollectDrawnEdges(test, there, open), seen_back = CollectDrawnEdges(test, back, open);
  const auto left = CollectDrawnEdges(test, there, hidden), left_back = CollectDrawnEdges(test, back, hidden);
  for (const auto& [reader, book, stars] : ReviewsOfStep(source, there, 0)) {
    EXPECT_TRUE(seen.contains({reader, book}));
    EXPECT_TRUE(seen_back.contains({book, reader}));
    EXPECT_FALSE(left.contains({reader, book}));
    EXPECT_FALSE(left_back.contains({book, reader}));
  }
  EXPECT_FALSE(left.empty() || left_back.empty());
}

}  // namespace
}  // namespace espalier::shard
