// Negatives and exclusions compared with enumeration.
#include "services/sampler/seeds/negatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "services/base/philox.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/seeds/edge_exclusions.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NegativesTest, DrawsTakeTwoWordsEach) {
  const uint64_t key = NegativesKey(7, 2, 3, NegativeEnd::kDestination);
  const std::vector<uint64_t> nodes = DrawNodes(key, 5, 1000, 3);
  const auto first = Philox4x32(key, 0, 5), second = Philox4x32(key, 1, 5);
  const auto node = [](uint32_t high, uint32_t low) {
    // 1000 fits into 32 bits, so the product has at most 96 bits; this computes its upper part.
    return (uint64_t{high} * 1000 + (uint64_t{low} * 1000 >> 32)) >> 32;
  };
  EXPECT_THAT(nodes, ElementsAre(node(first[0], first[1]), node(first[2], first[3]), node(second[0], second[1])));
}

TEST(NegativesTest, DrawsAreUniformAndIndependent) {
  constexpr uint64_t kNumNodes = 10;
  std::vector<int> counts(kNumNodes, 0);
  for (uint64_t stream = 0; stream < 2000; ++stream) {
    for (const uint64_t node : DrawNodes(1, stream, kNumNodes, 5)) ++counts[node];
  }
  // 10,000 draws: the standard deviation of a count is 30.
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);

  const std::vector<uint64_t> drawn = DrawNodes(NegativesKey(1, 1, 1, NegativeEnd::kDestination), 0, 1u << 30, 4);
  for (const uint64_t other :
       {NegativesKey(2, 1, 1, NegativeEnd::kDestination), NegativesKey(1, 2, 1, NegativeEnd::kDestination),
        NegativesKey(1, 1, 2, NegativeEnd::kDestination), NegativesKey(1, 1, 1, NegativeEnd::kSource)}) {
    EXPECT_NE(DrawNodes(other, 0, 1u << 30, 4), drawn);
  }
  EXPECT_NE(DrawNodes(NegativesKey(1, 1, 1, NegativeEnd::kDestination), 1, 1u << 30, 4), drawn);
}

TEST(NegativesTest, GroupsDivideBatch) {
  EXPECT_EQ(FindJointGroup(0, 4), 0u);
  EXPECT_EQ(FindJointGroup(3, 4), 0u);
  EXPECT_EQ(FindJointGroup(4, 4), 1u);
  // 2 negatives for each: groups of 3; 8 edges end with a group of 2.
  for (const auto& [position, first, last] :
       {std::tuple(0u, 0u, 3u), std::tuple(2u, 0u, 3u), std::tuple(3u, 3u, 6u), std::tuple(7u, 6u, 8u)}) {
    const BatchGroup group = FindInBatchGroup(position, 2, 8);
    EXPECT_EQ(group.first, first);
    EXPECT_EQ(group.last, last);
  }
}

TEST(NegativesTest, InDegreeQueriesTakeEdgesEquallyOften) {
  constexpr uint64_t kEdges = 11;
  const auto edges_of_step = [](uint32_t step, uint64_t negatives) {
    const SeedQuery query = MakeInDegreeQuery({EdgeTypeId(0)}, "links", 1, 3, step, negatives, kEdges);
    const SeedOrder order(query, kEdges);
    const PositionRange range = PositionsOfStep(kEdges, query.batch_size, query.step);
    std::set<uint64_t> edges;
    for (uint64_t at = range.first; at < range.last; ++at) edges.insert(order.OrdinalAt(at));
    return edges;
  };
  for (const uint64_t negatives : {3u, 5u, 10u, 11u, 40u}) {
    const uint64_t each = std::min(negatives, kEdges);
    std::vector<uint32_t> times(kEdges, 0);
    constexpr uint32_t kSteps = 3000;
    for (uint32_t step = 0; step < kSteps; ++step) {
      const std::set<uint64_t> edges = edges_of_step(step, negatives);
      ASSERT_EQ(edges.size(), each) << "step " << step;  // no step gets a shorter remainder
      for (const uint64_t edge : edges) ++times[edge];
    }
    const double expected = static_cast<double>(kSteps * each) / kEdges;
    // Five standard deviations of a binomial count.
    for (const uint32_t count : times) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << negatives;
  }
  // Batches of one permutation have no common edges; the next permutation differs.
  const std::set<uint64_t> first = edges_of_step(0, 5);
  for (const uint64_t edge : edges_of_step(1, 5)) EXPECT_FALSE(first.contains(edge)) << edge;
  std::vector<uint64_t> orders[2];
  for (uint32_t step = 0; step < 2; ++step) {
    const SeedOrder order(MakeInDegreeQuery({EdgeTypeId(0)}, "links", 1, 3, step, 40, kEdges), kEdges);
    for (uint64_t at = 0; at < kEdges; ++at) orders[step].push_back(order.OrdinalAt(at));
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(EdgeExclusionsTest, AreTheBatchsEdgesAndTheirReverses) {
  const GlobalBatch batch{.seeds = {GlobalNodeId(2), GlobalNodeId(1), GlobalNodeId(2)},
                          .sources = {GlobalNodeId(7), GlobalNodeId(4), GlobalNodeId(7)},
                          .types = {0, 0, 0}};
  const auto of = [&](EdgeTypeId type, std::optional<EdgeTypeId> reverse) {
    return FindExclusions(batch, std::vector<LinkType>{{type, reverse}}, 2);
  };
  const auto ends = [](uint64_t source, uint64_t destination) {
    return EdgeEnds{GlobalNodeId(destination), GlobalNodeId(source)};
  };
  const EdgeExclusions alone = of(EdgeTypeId(1), std::nullopt);
  EXPECT_THAT(alone[0], IsEmpty());
  EXPECT_THAT(alone[1], ElementsAre(ends(4, 1), ends(7, 2)));
  const EdgeExclusions both = of(EdgeTypeId(1), EdgeTypeId(0));
  EXPECT_THAT(both[0], ElementsAre(ends(1, 4), ends(2, 7)));
  EXPECT_THAT(both[1], ElementsAre(ends(4, 1), ends(7, 2)));
  const EdgeExclusions same = of(EdgeTypeId(1), EdgeTypeId(1));
  EXPECT_THAT(same[1], ElementsAre(ends(4, 1), ends(7, 2), ends(1, 4), ends(2, 7)));
  // Edges of several types: each with its own type's reverse.
  GlobalBatch mixed = batch;
  mixed.types = {0, 1, 0};
  const EdgeExclusions several =
      FindExclusions(mixed, std::vector<LinkType>{{EdgeTypeId(2), EdgeTypeId(0)}, {EdgeTypeId(1), std::nullopt}}, 3);
  EXPECT_THAT(several[0], ElementsAre(ends(2, 7)));
  EXPECT_THAT(several[1], ElementsAre(ends(4, 1)));
  EXPECT_THAT(several[2], ElementsAre(ends(7, 2)));
}

TEST(LinkPlanTest, RefusesInvalidEdgeTypesAndNumbersOfNegatives) {
  const Result<graph::GraphSchema> schema =
      graph::GraphSchema::Make({"a", "p"}, {{"a", "w", "p"}, {"p", "c", "p"}, {"p", "r", "a"}});
  ASSERT_TRUE(schema.ok());
  const auto refusal = [&](EpochPlan plan) { return CheckLinkPlan(plan, *schema).message(); };
  EpochPlan plan;
  EXPECT_THAT(refusal(plan), HasSubstr("names no edges"));
  plan.seeds = LinkPlan{.types = {{EdgeTypeId(1), EdgeTypeId(1)}}, .negatives = {}};
  LinkType& link = plan.links()->types.front();
  EXPECT_EQ(refusal(plan), "");
  link.reverse_type = EdgeTypeId(0);
  EXPECT_THAT(refusal(plan), HasSubstr("does not reverse the node types of 'p:c:p'"));
  link.reverse_type = EdgeTypeId(3);
  EXPECT_THAT(refusal(plan), HasSubstr("the reverse edge type of 'p:c:p': edge type 3 does not exist"));
  link.reverse_type.reset();
  plan.links()->negatives.count = 0;
  EXPECT_EQ(refusal(plan), "");
  plan.links()->negatives.kind = NegativeKind::kJoint;
  EXPECT_EQ(
      refusal(plan),
      "0 negatives of kind Joint for each edge: expected 1 or more, or the kind Uniform, which allows 0 negatives");
  link.edge_type = EdgeTypeId(3);
  EXPECT_THAT(refusal(plan), HasSubstr("edge type 3 does not exist"));
  plan.links()->negatives.count = 1;
  plan.links()->types = {{EdgeTypeId(1)}, {EdgeTypeId(1)}};
  EXPECT_THAT(refusal(plan), HasSubstr("'p:c:p' is named twice"));
  plan.links()->types.clear();
  EXPECT_THAT(refusal(plan), HasSubstr("names no edges"));
}

TEST(LinkPlanTest, EdgeTypesMayHaveEndpointsOfAnyNodeTypes) {
  const Result<graph::GraphSchema> schema =
      graph::GraphSchema::Make({"a", "p"}, {{"a", "writes", "p"}, {"p", "cites", "p"}, {"p", "written", "a"}});
  ASSERT_TRUE(schema.ok());
  const EdgeTypeId writes = *schema->FindEdgeType("writes"), cites = *schema->FindEdgeType("cites"),
                   written = *schema->FindEdgeType("written");
  EpochPlan plan;
  plan.seeds = LinkPlan{.types = {{writes, written}, {cites}, {written, writes}}, .negatives = {}};
  EXPECT_TRUE(CheckLinkPlan(plan, *schema).ok());
  plan.links()->types[0].reverse_type = cites;
  EXPECT_THAT(CheckLinkPlan(plan, *schema).message(), HasSubstr("does not reverse the node types of 'a:writes:p'"));
}

}  // namespace
}  // namespace espalier::sampler
