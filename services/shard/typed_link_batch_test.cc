// Link-prediction batches between node types, compared with enumeration: the same pairs and negatives for any number of
// partitions and trainers, each end of its node type, and no edge of the batch among the drawn edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "services/graph/preprocess.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::MiniBatch;
using sampler::NegativeKind;
using testing::TestGraph;

constexpr uint64_t kShopSeed = 23;
constexpr uint32_t kShopEpoch = 2;
constexpr uint64_t kShopBatch = 24;
constexpr uint32_t kUsers = 20, kItems = 30;
constexpr uint32_t kNegativesOfSale = 5;

// Users buy items and items are similar to items, with the reverse relations of both. Two of three edges are training
// edges.
graph::SourceGraph Shop() {
  graph::SourceGraph source;
  source.name = "shop";
  source.schema = *graph::GraphSchema::Make({"item", "user"}, {{"item", "similar", "item"}, {"user", "buys", "item"}});
  source.nodes.push_back({.count = kItems});
  source.nodes.push_back({.count = kUsers});
  for (uint16_t type = 0; type < 2; ++type) {
    const bool buys = source.schema.EdgeType(EdgeTypeId(type)).relation == "buys";
    std::vector<uint32_t> from, to;
    graph::EdgePairs& train = source.edge_splits["links"][type].train;
    for (uint32_t i = 0; i < (buys ? 3 * kUsers : kItems); ++i) {
      from.push_back(buys ? i % kUsers : i);
      to.push_back((buys ? 7 * i + i / kUsers : 11 * i + 5) % kItems);
      if (i % 3 == 2) continue;
      train.sources.push_back(from.back());
      train.destinations.push_back(to.back());
    }
    source.edges.push_back({.sources = Tensor::FromVector(from), .destinations = Tensor::FromVector(to)});
  }
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

// Returns the edge types to predict: sales in both directions, and similarity.
std::vector<sampler::LinkType> MakeLinkTypes(const graph::GraphSchema& schema) {
  const EdgeTypeId buys = *schema.FindEdgeType("buys"), bought = *schema.FindEdgeType("rev_buys");
  return {{buys, bought}, {bought, buys}, {*schema.FindEdgeType("similar"), *schema.FindEdgeType("rev_similar")}};
}

MiniBatch BatchOfShop(const TestGraph& test, NegativeKind kind, uint32_t step, uint32_t num_trainers, uint32_t rank) {
  const graph::GraphSchema& schema = test.book.schema();
  sampler::EpochPlan plan{.split = "links", .batch_size = kShopBatch};
  plan.seeds = sampler::LinkPlan{.types = MakeLinkTypes(schema), .negatives = {kind, kNegativesOfSale}};
  plan.num_trainers = num_trainers;
  plan.rank = Rank(rank);
  ESPALIER_CHECK(sampler::CheckLinkPlan(plan, schema).ok());
  const std::vector<int32_t> all(schema.num_edge_types(), sampler::kFullNeighborhood);
  auto sampler = sampler::FanoutSampler::Make(*test.graph, {.layers = {sampler::LayerSpec{all}}, .seed = kShopSeed});
  ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
  auto batch = sampler::MakeLinkBatch(*test.graph, *sampler, test.book, plan, kShopSeed, kShopEpoch, step,
                                      /*want_edge_ids=*/false, Soon());
  ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
  return *std::move(batch);
}

using Ends = std::pair<uint64_t, uint64_t>;
struct Sale {
  uint32_t relation = 0;
  Ends ends;
  std::vector<std::pair<Ends, int>> negatives;  // with their weights
  friend auto operator<=>(const Sale&, const Sale&) = default;
};

std::vector<std::vector<uint64_t>> ListOriginalIds(const TestGraph& test, const MiniBatch& batch) {
  std::vector<std::vector<uint64_t>> originals;
  for (uint16_t type = 0; type < batch.nodes.size(); ++type) {
    originals.push_back(testing::OriginalIds(*test.graph, NodeTypeId(type), batch.nodes[type]));
  }
  return originals;
}

// Returns a batch's pairs and negatives by original ids, in ascending order, after checking that every row has the node
// type that its edge type requires.
std::vector<Sale> ListSales(const TestGraph& test, const MiniBatch& batch) {
  const graph::GraphSchema& schema = test.book.schema();
  const std::vector<std::vector<uint64_t>> originals = ListOriginalIds(test, batch);
  std::vector<std::pair<NodeTypeId, uint64_t>> seeds;
  for (uint16_t type = 0; type < originals.size(); ++type) {
    for (uint32_t row = 0; row < batch.layers.back().num_outputs[type]; ++row) {
      seeds.emplace_back(NodeTypeId(type), originals[type][row]);
    }
  }
  EXPECT_EQ(seeds.size(), batch.num_seeds);
  const std::vector<sampler::LinkType> types = MakeLinkTypes(schema);
  const auto at = [&](uint32_t row, NodeTypeId expected) {
    EXPECT_EQ(seeds.at(row).first, expected);
    return seeds.at(row).second;
  };
  const sampler::LinkSeeds& links = *batch.links;
  std::vector<Sale> sales;
  size_t set = 0;
  for (size_t i = 0; i < links.sources.size(); ++i) {
    if (i == links.set_ends[set]) ++set;
    const EdgeTypeId type = types[links.relations[i]].edge_type;
    const NodeTypeId from = schema.SourceOf(type), to = schema.DestinationOf(type);
    Sale sale{.relation = links.relations[i],
              .ends = {at(links.sources[i], from), at(links.destinations[i], to)},
              .negatives = {}};
    for (size_t k = 0; k < kNegativesOfSale; ++k) {
      const size_t own = i * kNegativesOfSale + k;
      const uint32_t source = links.negative_sources.empty() ? links.sources[i] : links.negative_sources[own];
      const uint32_t destination = links.negative_destinations[set * kNegativesOfSale + k];
      sale.negatives.push_back({{at(source, from), at(destination, to)}, links.negative_weights[own]});
    }
    sales.push_back(std::move(sale));
  }
  std::sort(sales.begin(), sales.end());
  return sales;
}

// A training edge of the plan's edge types.
struct TypedEdge {
  uint32_t relation;
  NodeTypeId source_type, destination_type;
  Ends ends;
};

// Returns all training edges, type after type.
std::vector<TypedEdge> TrainingEdges(const graph::SourceGraph& source) {
  std::vector<TypedEdge> edges;
  const std::vector<sampler::LinkType> types = MakeLinkTypes(source.schema);
  for (uint32_t relation = 0; relation < types.size(); ++relation) {
    const EdgeTypeId type = types[relation].edge_type;
    const graph::EdgePairs& train = source.edge_splits.at("links").at(type.value).train;
    for (size_t i = 0; i < train.size(); ++i) {
      edges.push_back({relation,
                       source.schema.SourceOf(type),
                       source.schema.DestinationOf(type),
                       {train.sources[i], train.destinations[i]}});
    }
  }
  return edges;
}

std::vector<TypedEdge> EdgesOfShopStep(const std::vector<TypedEdge>& train, const sampler::SeedQuery& query) {
  const sampler::SeedOrder order(query, train.size());
  const sampler::PositionRange range = sampler::PositionsOfStep(train.size(), query.batch_size, query.step);
  std::vector<TypedEdge> edges;
  for (uint64_t at = range.first; at < range.last; ++at) edges.push_back(train[order.OrdinalAt(at)]);
  return edges;
}

// Returns the pairs and negatives that negatives.h specifies, by original ids in ascending order.
std::vector<Sale> SalesByHand(const graph::SourceGraph& source, NegativeKind kind, uint32_t step) {
  constexpr uint64_t kCount = kNegativesOfSale;
  const std::vector<TypedEdge> train = TrainingEdges(source);
  const std::vector<TypedEdge> edges = EdgesOfShopStep(
      train, {.split = "links", .seed = kShopSeed, .epoch = kShopEpoch, .step = step, .batch_size = kShopBatch});
  std::set<std::pair<uint32_t, Ends>> positive;
  for (const TypedEdge& edge : edges) positive.insert({edge.relation, edge.ends});
  std::vector<TypedEdge> by_degree;
  if (kind == NegativeKind::kInDegree) {
    by_degree = EdgesOfShopStep(train, sampler::MakeInDegreeQuery({EdgeTypeId(0)}, "links", kShopSeed, kShopEpoch, step,
                                                                  kCount * kShopBatch, train.size()));
  }
  const auto draw = [&](sampler::NegativeEnd end, uint64_t stream, NodeTypeId type) {
    return sampler::DrawNodes(sampler::NegativesKey(kShopSeed, kShopEpoch, step, end), stream,
                              source.nodes_of(type).count, kNegativesOfSale);
  };
  std::vector<Sale> sales;
  for (uint64_t i = 0; i < edges.size(); ++i) {
    const TypedEdge& edge = edges[i];
    Sale sale{.relation = edge.relation, .ends = edge.ends, .negatives = {}};
    const auto add = [&](uint64_t from, uint64_t to) {
      sale.negatives.push_back({{from, to}, positive.contains({edge.relation, {from, to}}) ? 0 : 1});
    };
    const auto add_destination_of = [&](const TypedEdge& other) {
      if (other.destination_type == edge.destination_type) return add(edge.ends.first, other.ends.second);
      sale.negatives.push_back({edge.ends, 0});
    };
    if (kind == NegativeKind::kInBatch) {
      for (uint64_t j = i / (kCount + 1) * (kCount + 1); j < (i / (kCount + 1) + 1) * (kCount + 1); ++j) {
        if (j != i && j < edges.size()) add_destination_of(edges[j]);
        if (j >= edges.size()) sale.negatives.push_back({edge.ends, 0});
      }
    } else {
      const uint64_t stream = kind == NegativeKind::kJoint ? i / kCount : i;
      const auto sources = draw(sampler::NegativeEnd::kSource, i, edge.source_type);
      const auto destinations = draw(sampler::NegativeEnd::kDestination, stream, edge.destination_type);
      for (uint64_t k = 0; k < kCount; ++k) {
        if (kind == NegativeKind::kInDegree) {
          add_destination_of(by_degree[(i * kCount + k) % by_degree.size()]);
        } else {
          add(kind == NegativeKind::kGlobalUniform ? sources[k] : edge.ends.first, destinations[k]);
        }
      }
    }
    sales.push_back(std::move(sale));
  }
  std::sort(sales.begin(), sales.end());
  return sales;
}

class TypedLinkBatchTest : public ::testing::TestWithParam<NegativeKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, TypedLinkBatchTest,
                         ::testing::Values(NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                           NegativeKind::kInDegree, NegativeKind::kGlobalUniform));

TEST_P(TypedLinkBatchTest, FollowsRulesForAnyPartitionsAndTrainers) {
  const graph::SourceGraph source = Shop();
  ASSERT_EQ(TrainingEdges(source).size(), 100u);
  for (const uint32_t num_partitions : {1u, 3u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 3);
    for (uint32_t step = 0; step < 5; ++step) {  // the last step has 4 edges
      const std::vector<Sale> expected = SalesByHand(source, GetParam(), step);
      ASSERT_EQ(expected.size(), step < 4 ? kShopBatch : 4u);
      for (const uint32_t num_trainers : {1u, 3u}) {
        std::vector<Sale> together;
        for (uint32_t rank = 0; rank < num_trainers; ++rank) {
          const MiniBatch share = BatchOfShop(test, GetParam(), step, num_trainers, rank);
          EXPECT_EQ(share.global_num_seeds, expected.size());
          for (Sale& sale : ListSales(test, share)) together.push_back(std::move(sale));
        }
        std::sort(together.begin(), together.end());
        EXPECT_EQ(together, expected) << num_partitions << " partitions, " << num_trainers << " trainers, step "
                                      << step;
      }
    }
  }
}

TEST(TypedLinkBatchSamplingTest, ExcludesEdgesOfBatchInBothDirections) {
  const graph::SourceGraph source = Shop();
  const TestGraph test = testing::MakeTestGraph(source, 3, 3);
  const graph::GraphSchema& schema = test.book.schema();
  const std::vector<sampler::LinkType> types = MakeLinkTypes(schema);
  for (uint32_t step = 0; step < 5; ++step) {
    const MiniBatch batch = BatchOfShop(test, NegativeKind::kUniform, step, 1, 0);
    std::set<std::pair<EdgeTypeId, Ends>> requested;
    for (const Sale& sale : ListSales(test, batch)) {
      const auto& [type, reverse] = types[sale.relation];
      requested.insert({type, sale.ends});
      requested.insert({*reverse, {sale.ends.second, sale.ends.first}});
    }
    const std::vector<std::vector<uint64_t>> originals = ListOriginalIds(test, batch);
    size_t num_drawn = 0;
    for (const sampler::Block& block : batch.layers.front().blocks) {
      const auto& from = originals[schema.SourceOf(block.edge_type).value];
      const auto& to = originals[schema.DestinationOf(block.edge_type).value];
      for (size_t row = 0; row + 1 < block.indptr.size(); ++row) {
        for (uint32_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e, ++num_drawn) {
          EXPECT_FALSE(requested.contains({block.edge_type, {from[block.indices[e]], to[row]}}));
        }
      }
    }
    EXPECT_GT(num_drawn, 0u);
  }
}

}  // namespace
}  // namespace espalier::shard
