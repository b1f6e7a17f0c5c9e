// Random walks and PinSAGE neighbors over shards: every step is an edge, probabilities agree with enumeration, and
// walks are the same in every partitioning.
#include "services/sampler/walks/random_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "services/base/philox.h"
#include "services/graph/generators.h"
#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/sampler/walks/pinsage_neighbors.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::PinSageOptions;
using sampler::RandomWalks;
using sampler::WalkOptions;
using ::testing::HasSubstr;

constexpr EdgeTypeId kEdge(0);
constexpr uint64_t kNone = ~uint64_t{0};

// 60 nodes; the last ten have no in-edges.
graph::SourceGraph SmallDense() {
  PhiloxStream random(12, 0);
  std::vector<uint32_t> sources, destinations;
  std::vector<int32_t> weights;
  for (int i = 0; i < 400; ++i) {
    sources.push_back(random.NextBelow(60));
    destinations.push_back(random.NextBelow(50));
    weights.push_back(static_cast<int32_t>(random.NextBelow(4)));
  }
  graph::SourceGraph source{.name = "dense", .schema = sampler::testing::HomogeneousSchema()};
  source.nodes.push_back({.count = 60});
  source.edges.push_back({.sources = Tensor::FromVector(sources), .destinations = Tensor::FromVector(destinations)});
  source.edges[0].columns = {{"w", Tensor::FromVector(weights)}};
  return source;
}

const graph::TypedOptions kTyped = {.num_papers = 300, .num_authors = 150, .seed = 6};

// Returns the transition probabilities of one step, computed from all edges: [from][to].
std::vector<std::map<uint64_t, double>> Transitions(const graph::SourceGraph& source, bool weighted) {
  std::vector<std::map<uint64_t, double>> chances(source.nodes[0].count);
  const graph::EdgeSet& edges = source.edges[0];
  for (int64_t i = 0; i < static_cast<int64_t>(edges.num_edges()); ++i) {
    const double weight = weighted ? edges.columns.at("w").ValueAsDouble(i) : 1;
    if (weight == 0) continue;
    chances[static_cast<size_t>(edges.destinations.ValueAsInt(i))]
           [static_cast<uint64_t>(edges.sources.ValueAsInt(i))] += weight;
  }
  for (auto& row : chances) {
    double total = 0;
    for (const auto& [to, weight] : row) total += weight;
    for (auto& [to, weight] : row) weight /= total;
  }
  return chances;
}

// Returns the walks by original ids; kNone after the end of a walk.
std::vector<uint64_t> InOriginalIds(const testing::TestGraph& test, NodeTypeId type,
                                    const std::vector<GlobalNodeId>& nodes) {
  std::vector<GlobalNodeId> there;
  for (const GlobalNodeId node : nodes) {
    if (node != sampler::kNoNode) there.push_back(node);
  }
  const std::vector<uint64_t> ids = testing::OriginalIds(*test.graph, type, there);
  std::vector<uint64_t> all;
  size_t next = 0;
  for (const GlobalNodeId node : nodes) all.push_back(node == sampler::kNoNode ? kNone : ids[next++]);
  return all;
}

std::vector<GlobalNodeId> Globals(const testing::TestGraph& test, NodeTypeId type, uint64_t count) {
  std::vector<OriginalNodeId> ids;
  for (uint64_t id = 0; id < count; ++id) ids.emplace_back(id);
  const auto found = test.graph->ToGlobalIds(type, ids, Soon());
  ESPALIER_CHECK(found.ok()) << found.status().ToString();
  return *found;
}

double ChiSquare(const std::map<uint64_t, double>& chances, std::map<uint64_t, double> counts, double total) {
  double sum = 0;
  for (const auto& [to, chance] : chances) {
    sum += (counts[to] - total * chance) * (counts[to] - total * chance) / (total * chance);
  }
  return sum;
}

TEST(RandomWalkTest, FollowsInEdgesUntilThereIsNone) {
  const graph::SourceGraph source = SmallDense();
  const testing::TestGraph test = testing::MakeTestGraph(source, 3, 1);
  const auto chances = Transitions(source, false);
  const std::vector<GlobalNodeId> starts = Globals(test, NodeTypeId(0), 60);

  const Result<RandomWalks> walks = sampler::RandomWalk(
      *test.graph, starts, {.metapath = {kEdge, kEdge, kEdge, kEdge}, .walks_per_node = 5, .seed = 3}, Soon());

  ASSERT_TRUE(walks.ok()) << walks.status().ToString();
  EXPECT_EQ(walks->num_walks, 300u);
  EXPECT_EQ(walks->length, 4u);
  const std::vector<uint64_t> nodes = InOriginalIds(test, NodeTypeId(0), walks->nodes);
  for (size_t walk = 0; walk < 300; ++walk) {
    EXPECT_EQ(nodes[5 * walk], walk / 5);
    for (size_t step = 0; step < 4; ++step) {
      const uint64_t from = nodes[5 * walk + step], to = nodes[5 * walk + step + 1];
      if (from == kNone) {
        EXPECT_EQ(to, kNone);
      } else if (chances[from].empty()) {
        EXPECT_EQ(to, kNone);
      } else {
        EXPECT_TRUE(chances[from].contains(to)) << from << " -> " << to;
      }
    }
  }
}

TEST(RandomWalkTest, StepsAreProportionalToWeights) {
  const graph::SourceGraph source = SmallDense();
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 1);
  constexpr uint32_t kWalks = 20'000;
  for (const char* weights : {"", "w"}) {
    const auto chances = Transitions(source, *weights != 0);
    // After two steps, summed over the node in the middle.
    std::map<uint64_t, double> after_two;
    double stopped = 0;
    for (const auto& [middle, chance] : chances[7]) {
      if (chances[middle].empty()) stopped += chance;
      for (const auto& [end, second] : chances[middle]) after_two[end] += chance * second;
    }
    if (stopped > 0) after_two[kNone] = stopped;
    const std::vector<GlobalNodeId> all = Globals(test, NodeTypeId(0), 60);
    const std::vector<GlobalNodeId> start = {all[7]};
    const Result<RandomWalks> walks = sampler::RandomWalk(
        *test.graph, start, {.metapath = {kEdge, kEdge}, .walks_per_node = kWalks, .weight_column = weights, .seed = 3},
        Soon());
    ASSERT_TRUE(walks.ok()) << walks.status().ToString();
    const std::vector<uint64_t> nodes = InOriginalIds(test, NodeTypeId(0), walks->nodes);
    std::map<uint64_t, double> once, twice;
    for (size_t walk = 0; walk < kWalks; ++walk) {
      ++once[nodes[3 * walk + 1]];
      ++twice[nodes[3 * walk + 2]];
    }
    for (const auto& [expected, seen] : {std::pair(chances[7], once), std::pair(after_two, twice)}) {
      const double freedom = static_cast<double>(expected.size()) - 1;
      ASSERT_GT(freedom, 2);
      EXPECT_LT(ChiSquare(expected, seen, kWalks), freedom + 5 * std::sqrt(2 * freedom)) << "weights " << weights;
      for (const auto& [to, count] : seen) EXPECT_TRUE(expected.contains(to)) << to;
    }
  }
}

TEST(RandomWalkTest, EndsWithItsProbabilityBeforeAStep) {
  // A ring, in which a walk ends only by its restart probability.
  graph::SourceGraph source{.name = "ring", .schema = sampler::testing::HomogeneousSchema()};
  source.nodes.push_back({.count = 4});
  source.edges.push_back({.sources = Tensor::FromVector<uint32_t>({0, 1, 2, 3}),
                          .destinations = Tensor::FromVector<uint32_t>({1, 2, 3, 0})});
  const testing::TestGraph test = testing::MakeTestGraph(source, 2, 1);
  const std::vector<GlobalNodeId> start = {Globals(test, NodeTypeId(0), 4)[0]};
  constexpr uint32_t kWalks = 10'000;
  const Result<RandomWalks> walks = sampler::RandomWalk(
      *test.graph, start,
      {.metapath = {kEdge, kEdge, kEdge}, .walks_per_node = kWalks, .restart_probabilities = {0, 0.25, 1}, .seed = 1},
      Soon());
  ASSERT_TRUE(walks.ok()) << walks.status().ToString();
  const std::vector<uint64_t> nodes = InOriginalIds(test, NodeTypeId(0), walks->nodes);
  double second = 0;
  for (size_t walk = 0; walk < kWalks; ++walk) {
    EXPECT_EQ(nodes[4 * walk], 0u);
    EXPECT_EQ(nodes[4 * walk + 1], 3u);
    if (nodes[4 * walk + 2] != kNone) second += 1;
    EXPECT_EQ(nodes[4 * walk + 3], kNone);
  }
  EXPECT_NEAR(second / kWalks, 0.75, 5 * std::sqrt(0.75 * 0.25 / kWalks));
}

TEST(RandomWalkTest, IsTheSameInEveryPartitioning) {
  const graph::SourceGraph source = testing::PapersAndAuthors(kTyped);
  const EdgeTypeId writes = *source.schema.FindEdgeType("writes");
  const EdgeTypeId cites = *source.schema.FindEdgeType("cites");
  const NodeTypeId paper = source.schema.DestinationOf(cites);
  const WalkOptions options{.metapath = {cites, cites, writes},
                            .walks_per_node = 3,
                            .restart_probabilities = {0, 0.1, 0.1},
                            .seed = 8,
                            .epoch = 1,
                            .step = 4};
  std::vector<std::vector<uint64_t>> seen;
  for (const uint32_t num_partitions : {1u, 2u, 4u}) {
    const testing::TestGraph test = testing::MakeTestGraph(source, num_partitions, 30 + num_partitions);
    const auto walk = [&](const WalkOptions& like) {
      const Result<RandomWalks> walks = sampler::RandomWalk(*test.graph, Globals(test, paper, 300), like, Soon());
      EXPECT_TRUE(walks.ok()) << walks.status().ToString();
      std::vector<uint64_t> ids;
      // The walk visits papers and ends at an author.
      for (size_t place = 0; place <= walks->length; ++place) {
        std::vector<GlobalNodeId> nodes;
        for (size_t w = 0; w < walks->num_walks; ++w) nodes.push_back(walks->Trace(w)[place]);
        const auto column = InOriginalIds(test, place < 3 ? paper : source.schema.SourceOf(writes), nodes);
        ids.insert(ids.end(), column.begin(), column.end());
      }
      return ids;
    };
    seen.push_back(walk(options));
    WalkOptions other = options;
    other.step = 5;
    EXPECT_NE(walk(other), seen.back());
  }
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
}

TEST(RandomWalkTest, RefusesInvalidPathsProbabilitiesAndNumbers) {
  const graph::SourceGraph source = testing::PapersAndAuthors(kTyped);
  const testing::TestGraph test = testing::MakeTestGraph(source, 1, 1);
  const EdgeTypeId writes = *source.schema.FindEdgeType("writes");
  const std::vector<GlobalNodeId> starts = {GlobalNodeId(0)};
  const auto error = [&](const WalkOptions& options) {
    return sampler::RandomWalk(*test.graph, starts, options, Soon()).status().message();
  };
  EXPECT_THAT(error({}), HasSubstr("at least one step"));
  EXPECT_THAT(error({.metapath = {EdgeTypeId(9)}}), HasSubstr("edge type 9 does not exist"));
  EXPECT_THAT(error({.metapath = {writes, writes}}), HasSubstr("step 1 follows 'author:writes:paper'"));
  EXPECT_THAT(error({.metapath = {writes}, .walks_per_node = 0}), HasSubstr("at least one walk"));
  EXPECT_THAT(error({.metapath = {writes}, .restart_probabilities = {0, 0}}), HasSubstr("2 restart probabilities"));
  EXPECT_THAT(error({.metapath = {writes}, .restart_probabilities = {1.5}}), HasSubstr("in [0, 1]"));
  EXPECT_THAT(error({.metapath = {writes}, .restart_probabilities = {std::nan("")}}), HasSubstr("in [0, 1]"));
  EXPECT_THAT(error({.metapath = {writes}, .walks_per_node = 1u << 28}), HasSubstr("use fewer starts"));
}

// Compared with counts of the traversal ends of the same walks.
TEST(PinSageNeighborsTest, AreTheMostVisitedEndsOfTraversals) {
  const graph::SourceGraph source = SmallDense();
  std::vector<std::vector<uint64_t>> found_by;
  for (const uint32_t num_partitions : {1u, 3u}) {
    const testing::TestGraph test = testing::MakeTestGraph(source, num_partitions, 7);
    const std::vector<GlobalNodeId> seeds = Globals(test, NodeTypeId(0), 60);
    const PinSageOptions options{.metapath = {kEdge, kEdge},
                                 .num_traversals = 3,
                                 .termination_probability = 0.3,
                                 .num_random_walks = 12,
                                 .num_neighbors = 4,
                                 .seed = 5};
    const auto found = sampler::FindPinSageNeighbors(*test.graph, seeds, options, Soon());
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    const Result<RandomWalks> walks = sampler::RandomWalk(*test.graph, seeds,
                                                          {.metapath = std::vector<EdgeTypeId>(6, kEdge),
                                                           .walks_per_node = 12,
                                                           .restart_probabilities = {0, 0, 0.3, 0, 0.3, 0},
                                                           .seed = 5},
                                                          Soon());
    ASSERT_TRUE(walks.ok()) << walks.status().ToString();
    const std::vector<uint64_t> nodes = InOriginalIds(test, NodeTypeId(0), walks->nodes);
    const std::vector<uint64_t> neighbors = InOriginalIds(test, NodeTypeId(0), found->neighbors);
    std::vector<uint64_t> all;
    for (size_t i = 0; i < seeds.size(); ++i) {
      std::map<uint64_t, int> visits;
      for (size_t walk = 12 * i; walk < 12 * (i + 1); ++walk) {
        for (const size_t place : {2u, 4u, 6u}) {
          if (nodes[7 * walk + place] != kNone) ++visits[nodes[7 * walk + place]];
        }
      }
      std::vector<std::pair<int, uint64_t>> ranked;
      for (const auto& [node, count] : visits) ranked.emplace_back(-count, node);
      std::sort(ranked.begin(), ranked.end());
      if (ranked.size() > 4) ranked.resize(4);
      ASSERT_EQ(found->offsets[i + 1] - found->offsets[i], ranked.size());
      for (size_t k = 0; k < ranked.size(); ++k) {
        EXPECT_EQ(neighbors[found->offsets[i] + k], ranked[k].second);
        EXPECT_EQ(found->visits[found->offsets[i] + k], static_cast<uint32_t>(-ranked[k].first));
      }
    }
    found_by.push_back(neighbors);
  }
  EXPECT_EQ(found_by[0], found_by[1]);
}

TEST(PinSageNeighborsTest, NamesTraversalsThatDoNotReturn) {
  const graph::SourceGraph source = testing::PapersAndAuthors(kTyped);
  const testing::TestGraph test = testing::MakeTestGraph(source, 1, 1);
  const EdgeTypeId writes = *source.schema.FindEdgeType("writes");
  const std::vector<GlobalNodeId> seeds = {GlobalNodeId(0)};
  const auto status = [&](const PinSageOptions& options) {
    return sampler::FindPinSageNeighbors(*test.graph, seeds, options, Soon()).status();
  };
  EXPECT_THAT(status({.metapath = {writes}}).message(), HasSubstr("'paper'"));
  EXPECT_EQ(status({}).code(), StatusCode::kInvalidArgument);
  const EdgeTypeId cites = *source.schema.FindEdgeType("cites");
  EXPECT_EQ(status({.metapath = {cites}, .num_traversals = 1u << 20}).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status({.metapath = {cites}, .num_traversals = 10'000, .num_random_walks = 1u << 20}).code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::shard
