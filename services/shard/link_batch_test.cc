// Link-prediction batches compared with enumeration: the same pairs, negatives and neighbors for any number of
// partitions and trainers, and no edge of the batch among the drawn edges.
#include "services/sampler/batches/link_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "services/graph/generators.h"
#include "services/graph/preprocess.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::EpochPlan;
using sampler::MiniBatch;
using sampler::NegativeKind;
using testing::TestGraph;

constexpr NodeTypeId kNode(0);
constexpr EdgeTypeId kLink(0);
constexpr uint64_t kBatchSeed = 17;
constexpr uint32_t kBatchEpoch = 1;
constexpr uint64_t kEdgesPerStep = 32;
constexpr uint64_t kLinkedNodes = 150;

// A symmetric graph; its split holds the first 100 edges in one direction.
graph::SourceGraph Symmetric() {
  graph::PowerLawOptions options;
  options.num_nodes = kLinkedNodes;
  options.num_edges = 900;
  options.seed = 5;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  graph::EdgePairs& train = source.edge_splits["links"][kLink.value].train;
  for (int64_t i = 0; i < 100; ++i) {
    train.sources.push_back(static_cast<uint64_t>(source.edges[0].sources.ValueAsInt(i)));
    train.destinations.push_back(static_cast<uint64_t>(source.edges[0].destinations.ValueAsInt(i)));
  }
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

EpochPlan MakePlan(NegativeKind kind, uint32_t count) {
  EpochPlan plan{.seed_type = kNode, .split = "links", .batch_size = kEdgesPerStep};
  plan.seeds = sampler::LinkPlan{.types = {{kLink, kLink}}, .negatives = {kind, count}};
  return plan;
}

sampler::SamplingSpec TwoLayers() { return {.layers = {{{4}}, {{-1}}}, .seed = kBatchSeed}; }

MiniBatch MakeBatch(const TestGraph& test, EpochPlan plan, uint32_t step, uint32_t num_trainers, uint32_t rank) {
  plan.num_trainers = num_trainers;
  plan.rank = Rank(rank);
  auto sampler = sampler::FanoutSampler::Make(*test.graph, TwoLayers());
  ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
  auto batch = sampler::MakeLinkBatch(*test.graph, *sampler, test.book, plan, kBatchSeed, kBatchEpoch, step,
                                      /*want_edge_ids=*/false, Soon());
  ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
  return *std::move(batch);
}

using Pair = std::pair<uint64_t, uint64_t>;
struct Scored {
  uint32_t relation = 0;
  Pair pair;
  std::vector<std::pair<Pair, int>> negatives;  // with their weights
  friend auto operator<=>(const Scored&, const Scored&) = default;
};

// Returns a batch's pairs and negatives by original ids.
std::vector<Scored> ListScored(const TestGraph& test, const MiniBatch& batch) {
  const std::vector<uint64_t> originals = testing::OriginalIds(*test.graph, kNode, batch.nodes[0]);
  const sampler::LinkSeeds& links = *batch.links;
  std::vector<Scored> scored;
  size_t set = 0;
  for (size_t i = 0; i < links.sources.size(); ++i) {
    if (i == links.set_ends[set]) ++set;
    Scored one{.relation = links.relations[i],
               .pair = {originals[links.sources[i]], originals[links.destinations[i]]},
               .negatives = {}};
    for (size_t k = 0; k < links.negatives_per_pair; ++k) {
      const size_t own = i * links.negatives_per_pair + k;
      const uint32_t source = links.negative_sources.empty() ? links.sources[i] : links.negative_sources[own];
      const uint32_t destination = links.negative_destinations[set * links.negatives_per_pair + k];
      one.negatives.push_back({{originals[source], originals[destination]}, links.negative_weights[own]});
    }
    scored.push_back(std::move(one));
  }
  return scored;
}

// Returns the step's edges, computed from the split and the permutation only.
std::vector<Pair> EdgesByHand(const graph::EdgePairs& train, uint32_t step) {
  const sampler::SeedQuery query{.seed = kBatchSeed, .epoch = kBatchEpoch, .step = step, .batch_size = kEdgesPerStep};
  const sampler::SeedOrder order(query, train.size());
  std::vector<Pair> edges;
  for (uint64_t at = step * kEdgesPerStep; at < std::min<uint64_t>(train.size(), (step + 1) * kEdgesPerStep); ++at) {
    edges.emplace_back(train.sources[order.OrdinalAt(at)], train.destinations[order.OrdinalAt(at)]);
  }
  return edges;
}

// Returns the pairs and negatives that negatives.h specifies, by original ids.
std::vector<Scored> ScoredByHand(const graph::SourceGraph& source, NegativeKind kind, uint32_t count, uint32_t step) {
  const graph::EdgePairs& train = source.edge_splits.at("links").at(0).train;
  const std::vector<Pair> edges = EdgesByHand(train, step);
  std::set<Pair> positive(edges.begin(), edges.end());
  for (const Pair& edge : edges) positive.insert({edge.second, edge.first});  // the type is its own reverse
  const uint64_t source_key = sampler::NegativesKey(kBatchSeed, kBatchEpoch, step, sampler::NegativeEnd::kSource);
  const uint64_t destination_key =
      sampler::NegativesKey(kBatchSeed, kBatchEpoch, step, sampler::NegativeEnd::kDestination);
  std::vector<uint64_t> by_degree;
  if (kind == NegativeKind::kInDegree) {
    const sampler::SeedQuery query = sampler::MakeInDegreeQuery({kLink}, "links", kBatchSeed, kBatchEpoch, step,
                                                                count * kEdgesPerStep, train.size());
    const sampler::SeedOrder order(query, train.size());
    const auto range = sampler::PositionsOfStep(train.size(), query.batch_size, query.step);
    for (uint64_t at = range.first; at < range.last; ++at) by_degree.push_back(train.destinations[order.OrdinalAt(at)]);
  }
  std::vector<Scored> scored;
  for (uint64_t i = 0; i < edges.size(); ++i) {
    Scored one{.relation = 0, .pair = edges[i], .negatives = {}};
    const auto add = [&](uint64_t from, uint64_t to) {
      one.negatives.push_back({{from, to}, positive.contains({from, to}) ? 0 : 1});
    };
    for (uint32_t k = 0; k < count; ++k) {
      switch (kind) {
        case NegativeKind::kUniform:
          add(edges[i].first, sampler::DrawNodes(destination_key, i, kLinkedNodes, count)[k]);
          break;
        case NegativeKind::kJoint:
          add(edges[i].first, sampler::DrawNodes(destination_key, i / count, kLinkedNodes, count)[k]);
          break;
        case NegativeKind::kGlobalUniform:
          add(sampler::DrawNodes(source_key, i, kLinkedNodes, count)[k],
              sampler::DrawNodes(destination_key, i, kLinkedNodes, count)[k]);
          break;
        case NegativeKind::kInDegree: add(edges[i].first, by_degree[(i * count + k) % by_degree.size()]); break;
        case NegativeKind::kInBatch: break;
      }
    }
    if (kind == NegativeKind::kInBatch) {
      for (uint64_t j = 0; j < edges.size(); ++j) {
        if (j != i && j / (count + 1) == i / (count + 1)) add(edges[i].first, edges[j].second);
      }
      while (one.negatives.size() < count) one.negatives.push_back({edges[i], 0});
    }
    scored.push_back(std::move(one));
  }
  return scored;
}

class LinkBatchTest : public ::testing::TestWithParam<NegativeKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, LinkBatchTest,
                         ::testing::Values(NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                           NegativeKind::kInDegree, NegativeKind::kGlobalUniform));

TEST_P(LinkBatchTest, FollowsRulesForAnyPartitionsAndTrainers) {
  const graph::SourceGraph source = Symmetric();
  for (const uint32_t num_partitions : {1u, 3u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 3);
    for (uint32_t step = 0; step < 4; ++step) {  // the last step has 4 edges
      std::vector<Scored> expected = ScoredByHand(source, GetParam(), 3, step);
      EXPECT_EQ(ListScored(test, MakeBatch(test, MakePlan(GetParam(), 3), step, 1, 0)), expected) << "step " << step;
      std::sort(expected.begin(), expected.end());
      for (const uint32_t num_trainers : {2u, 3u}) {
        std::vector<Scored> together;
        for (uint32_t rank = 0; rank < num_trainers; ++rank) {
          const MiniBatch share = MakeBatch(test, MakePlan(GetParam(), 3), step, num_trainers, rank);
          EXPECT_EQ(share.global_num_seeds, expected.size());
          for (Scored& one : ListScored(test, share)) together.push_back(std::move(one));
        }
        std::sort(together.begin(), together.end());
        EXPECT_EQ(together, expected) << num_trainers << " trainers, step " << step;
      }
    }
  }
}

// Two relations of one graph: the ordinals of the second relation's edges follow those of the first.
TEST(LinkBatchOfRelationsTest, TakesTheEdgesOfAllTypesForAnyPartitionsAndTrainers) {
  graph::SourceGraph source;
  source.name = "two";
  source.schema = *graph::GraphSchema::Make({"e"}, {{"e", "a", "e"}, {"e", "b", "e"}, {"e", "c", "e"}});
  source.nodes.push_back({.count = 30});
  for (uint16_t type = 0; type < 3; ++type) {
    std::vector<uint32_t> from, to;
    for (uint32_t i = 0; i < 20 + 5u * type; ++i) {
      from.push_back(i);
      to.push_back((i * 7 + type) % 30);
    }
    graph::EdgePairs& train = source.edge_splits["links"][type].train;
    train.sources = graph::IdList(from.begin(), from.end());
    train.destinations = graph::IdList(to.begin(), to.end());
    source.edges.push_back({.sources = Tensor::FromVector(from), .destinations = Tensor::FromVector(to)});
  }
  // c before a, without b: the order of the plan applies.
  EpochPlan plan{.seed_type = kNode, .split = "links", .batch_size = 16};
  plan.seeds = sampler::LinkPlan{.types = {{EdgeTypeId(2)}, {EdgeTypeId(0)}}, .negatives = {NegativeKind::kJoint, 5}};
  const auto edge_at = [&](uint64_t ordinal) {
    const uint32_t relation = ordinal < 30 ? 0 : 1;
    const graph::EdgePairs& train = source.edge_splits.at("links").at(relation == 0 ? 2 : 0).train;
    const uint64_t at = relation == 0 ? ordinal : ordinal - 30;
    return std::tuple(relation, train.sources[at], train.destinations[at]);
  };
  for (const uint32_t num_partitions : {1u, 4u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 3);
    for (uint32_t step = 0; step < 4; ++step) {  // 50 edges
      const sampler::SeedQuery query{.seed = kBatchSeed, .epoch = kBatchEpoch, .step = step, .batch_size = 16};
      const sampler::SeedOrder order(query, 50);
      const uint64_t key = sampler::NegativesKey(kBatchSeed, kBatchEpoch, step, sampler::NegativeEnd::kDestination);
      std::set<std::tuple<uint32_t, uint64_t, uint64_t>> positive;
      for (uint64_t at = 16 * step; at < std::min<uint64_t>(50, 16 * (step + 1)); ++at) {
        positive.insert(edge_at(order.OrdinalAt(at)));
      }
      std::vector<Scored> expected;
      for (uint64_t at = 16 * step; at < std::min<uint64_t>(50, 16 * (step + 1)); ++at) {
        const auto [relation, from, to] = edge_at(order.OrdinalAt(at));
        Scored one{.relation = relation, .pair = {from, to}, .negatives = {}};
        for (const uint64_t node : sampler::DrawNodes(key, (at - 16 * step) / 5, 30, 5)) {
          one.negatives.push_back({{from, node}, positive.contains({relation, from, node}) ? 0 : 1});
        }
        expected.push_back(std::move(one));
      }
      for (const uint32_t num_trainers : {1u, 2u}) {
        std::vector<Scored> together;
        for (uint32_t rank = 0; rank < num_trainers; ++rank) {
          plan.num_trainers = num_trainers;
          plan.rank = Rank(rank);
          auto sampler = sampler::FanoutSampler::Make(*test.graph, {.layers = {{{0, 0, 0}}}, .seed = kBatchSeed});
          ASSERT_TRUE(sampler.ok()) << sampler.status().ToString();
          const auto batch = sampler::MakeLinkBatch(*test.graph, *sampler, test.book, plan, kBatchSeed, kBatchEpoch,
                                                    step, /*want_edge_ids=*/false, Soon());
          ASSERT_TRUE(batch.ok()) << batch.status().ToString();
          EXPECT_EQ(batch->nodes[0].size(), batch->num_seeds);  // no neighbors
          for (Scored& one : ListScored(test, *batch)) together.push_back(std::move(one));
        }
        if (num_trainers > 1) std::sort(expected.begin(), expected.end()), std::sort(together.begin(), together.end());
        EXPECT_EQ(together, expected) << num_partitions << " partitions, " << num_trainers << " trainers, step "
                                      << step;
      }
    }
  }
}

// The drawn in-edges of a batch by layer and destination, as original ids.
using Drawn = std::map<std::pair<size_t, uint64_t>, std::vector<uint64_t>>;
void AddDrawn(const TestGraph& test, const MiniBatch& batch, Drawn& drawn) {
  const std::vector<uint64_t> originals = testing::OriginalIds(*test.graph, kNode, batch.nodes[0]);
  for (size_t layer = 0; layer < batch.layers.size(); ++layer) {
    const sampler::Block& block = batch.layers[layer].blocks[0];
    for (size_t row = 0; row + 1 < block.indptr.size(); ++row) {
      std::vector<uint64_t> sources;
      for (uint32_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e)
        sources.push_back(originals[block.indices[e]]);
      drawn[{layer, originals[row]}] = sources;
    }
  }
}

TEST(LinkBatchPartTest, InDegreeNeedsTrainingEdges) {
  graph::SourceGraph source = Symmetric();
  graph::EdgeSplit& split = source.edge_splits.at("links").at(0);
  split.validation = std::exchange(split.train, {});
  const TestGraph test = testing::MakeTestGraph(source, 2, 3);
  EpochPlan plan = MakePlan(NegativeKind::kUniform, 2);
  plan.part = graph::SplitPartName::kValidation;
  EXPECT_EQ(MakeBatch(test, plan, 0, 1, 0).links->sources.size(), kEdgesPerStep);
  plan.links()->negatives.kind = NegativeKind::kInDegree;
  auto sampler = sampler::FanoutSampler::Make(*test.graph, TwoLayers());
  ASSERT_TRUE(sampler.ok()) << sampler.status().ToString();
  const Status refused = sampler::MakeLinkBatch(*test.graph, *sampler, test.book, plan, kBatchSeed, kBatchEpoch, 0,
                                                /*want_edge_ids=*/false, Soon())
                             .status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("has no training edges"));
}

TEST(LinkBatchSamplingTest, ExcludesOnlyEdgesOfBatch) {
  const graph::SourceGraph source = Symmetric();
  const std::vector<Pair> edges = EdgesByHand(source.edge_splits.at("links").at(0).train, 0);
  std::set<Pair> hidden(edges.begin(), edges.end());
  for (const Pair& edge : edges) hidden.insert({edge.second, edge.first});
  std::map<uint64_t, std::vector<uint64_t>> visible;  // in-neighbors
  for (int64_t e = 0; e < source.edges[0].sources.num_rows(); ++e) {
    const auto u = static_cast<uint64_t>(source.edges[0].sources.ValueAsInt(e));
    const auto v = static_cast<uint64_t>(source.edges[0].destinations.ValueAsInt(e));
    if (!hidden.contains({u, v})) visible[v].push_back(u);
  }
  const TestGraph one = testing::MakeTestGraph(source, 1, 3);
  Drawn of_one;
  AddDrawn(one, MakeBatch(one, MakePlan(NegativeKind::kUniform, 3), 0, 1, 0), of_one);
  ASSERT_FALSE(of_one.empty());
  size_t num_drawn = 0;
  for (const auto& [at, sources] : of_one) {
    const auto& [layer, destination] = at;
    for (const uint64_t u : sources) EXPECT_FALSE(hidden.contains({u, destination})) << u << " -> " << destination;
    const size_t available = visible[destination].size();
    EXPECT_EQ(sources.size(), layer == 1 ? available : std::min<size_t>(available, 4)) << "node " << destination;
    num_drawn += sources.size();
  }
  EXPECT_GT(num_drawn, 100u);

  // The draws of a node do not depend on the trainer that requests them.
  const TestGraph three = testing::MakeTestGraph(source, 3, 3);
  Drawn of_trainers;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    AddDrawn(three, MakeBatch(three, MakePlan(NegativeKind::kUniform, 3), 0, 2, rank), of_trainers);
  }
  EXPECT_EQ(of_trainers, of_one);
}

}  // namespace
}  // namespace espalier::shard
