// Expand::kOnce in batches of links and of labeled edges, compared with a reference that expands nodes one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "services/base/philox.h"
#include "services/graph/preprocess.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/sampler/testing/same_batch.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using sampler::EdgeExclusions;
using sampler::Expand;
using sampler::MiniBatch;
using sampler::NegativeKind;
using testing::PortableBatch;
using testing::TestGraph;

constexpr uint32_t kMarketUsers = 60, kMarketItems = 80;
constexpr uint32_t kMarketEpoch = 2;

// Users buy items and items are similar to items, with the reverse relations of both. The split "half" has every second
// edge of each relation, and sales have a label.
graph::SourceGraph Market() {
  graph::SourceGraph source;
  source.name = "market";
  source.schema = *graph::GraphSchema::Make({"item", "user"}, {{"item", "similar", "item"}, {"user", "buys", "item"}});
  source.nodes.push_back({.count = kMarketItems});
  source.nodes.push_back({.count = kMarketUsers});
  PhiloxStream random(4, 9);
  for (uint16_t type = 0; type < 2; ++type) {
    const bool buys = source.schema.EdgeType(EdgeTypeId(type)).relation == "buys";
    std::vector<uint32_t> from, to;
    std::vector<float> stars;
    graph::EdgePairs& train = source.edge_splits["half"][type].train;
    for (uint32_t i = 0; i < 300; ++i) {
      from.push_back(random.NextBelow(buys ? kMarketUsers : kMarketItems));
      to.push_back(random.NextBelow(kMarketItems));
      stars.push_back(static_cast<float>((from.back() + 2 * to.back()) % 5));  // equal for parallel edges
      if (i % 2 == 1) continue;
      train.sources.push_back(from.back());
      train.destinations.push_back(to.back());
    }
    graph::EdgeSet edges{.sources = Tensor::FromVector(from), .destinations = Tensor::FromVector(to)};
    if (buys) edges.columns["stars"] = Tensor::FromVector(std::move(stars));
    source.edges.push_back(std::move(edges));
  }
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

EdgeTypeId TypeNamed(const graph::SourceGraph& source, const char* relation) {
  return *source.schema.FindEdgeType(relation);
}

// Three hops; the second does not sample the relation of similar items.
sampler::SamplingSpec ThreeHops(const graph::SourceGraph& source, Expand expand) {
  sampler::SamplingSpec spec{.draw = {.expand = expand}, .seed = 29};
  for (const int32_t fanout : {2, 3, 4}) {
    spec.layers.push_back({std::vector<int32_t>(source.schema.num_edge_types(), fanout)});
  }
  spec.layers[1].fanouts[TypeNamed(source, "similar").value] = 0;
  return spec;
}

MiniBatch BatchOfMarket(const TestGraph& test, const sampler::SamplingSpec& spec, const sampler::EpochPlan& plan,
                        uint32_t step) {
  sampler::LocalMiniBatchSource batches(*test.graph, *test.graph, spec, plan, {});
  ESPALIER_CHECK(batches.StartEpoch(kMarketEpoch, step).ok());
  Result<MiniBatch> batch = batches.Next(Soon());
  ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
  return *std::move(batch);
}

// Returns the batch's seeds by node type, as original ids.
std::vector<std::vector<uint64_t>> ListSeeds(const PortableBatch& batch) {
  std::vector<std::vector<uint64_t>> seeds = batch.nodes;
  for (size_t type = 0; type < seeds.size(); ++type) seeds[type].resize(batch.layer_counts.back()[type]);
  return seeds;
}

// Draws one hop of one relation. Returns the sources of the drawn in-edges of each destination.
std::vector<std::vector<uint64_t>> DrawInEdges(sampler::NeighborSource& graph, sampler::RelationQuery relation,
                                               const std::vector<uint64_t>& destinations, uint64_t seed,
                                               sampler::HopPosition at) {
  std::vector<GlobalNodeId> nodes(destinations.begin(), destinations.end());
  relation.destinations = nodes;
  const auto drawn = graph.SampleInEdges({.relations = {relation}, .seed = seed, .at = at}, Soon());
  ESPALIER_CHECK(drawn.ok()) << drawn.status().ToString();
  std::vector<std::vector<uint64_t>> sources(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto& [offsets, all, edge_ids] = drawn->relations[0];
    for (uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) sources[i].push_back(all[k].value);
  }
  return sources;
}

// Returns the batch of `seeds` by original ids: each hop draws for the nodes that no earlier hop has expanded, and a
// layer has for each of its rows the in-edges that were drawn for its node. `hidden` are the edges that are excluded
// from the batch.
PortableBatch ExpandEachOnce(const graph::SourceGraph& source, const sampler::SamplingSpec& spec,
                             std::vector<std::vector<uint64_t>> seeds, uint32_t step, const EdgeExclusions& hidden) {
  std::vector<uint64_t> num_nodes;
  for (const graph::NodeSet& nodes : source.nodes) num_nodes.push_back(nodes.count);
  std::vector<sampler::testing::ReferenceEdges> edges;
  for (const graph::EdgeSet& of_type : source.edges) {
    edges.emplace_back();
    for (int64_t i = 0; i < static_cast<int64_t>(of_type.num_edges()); ++i) {
      edges.back().push_back({static_cast<uint64_t>(of_type.sources.ValueAsInt(i)),
                              static_cast<uint64_t>(of_type.destinations.ValueAsInt(i))});
    }
  }
  sampler::testing::ReferenceNeighborSource graph(source.schema, num_nodes, edges);

  PortableBatch batch{.nodes = std::move(seeds)};
  std::set<std::pair<uint16_t, uint64_t>> expanded;                         // node type, node
  std::map<std::pair<uint16_t, uint64_t>, std::vector<uint64_t>> in_edges;  // edge type, destination
  const auto sizes = [&] {
    std::vector<uint32_t> counts;
    for (const auto& nodes : batch.nodes) counts.push_back(static_cast<uint32_t>(nodes.size()));
    return counts;
  };
  for (uint32_t hop = 0; hop < spec.layers.size(); ++hop) {
    const std::vector<int32_t>& fanouts = spec.layers[spec.layers.size() - 1 - hop].fanouts;
    const std::vector<std::vector<uint64_t>> met = batch.nodes;
    const std::vector<uint32_t> num_outputs = sizes();
    std::vector<std::vector<uint64_t>> to_expand(met.size());
    for (uint16_t type = 0; type < met.size(); ++type) {
      for (const uint64_t node : met[type]) {
        if (expanded.emplace(type, node).second) to_expand[type].push_back(node);
      }
    }
    for (uint16_t type = 0; type < fanouts.size(); ++type) {
      if (fanouts[type] == 0) continue;
      const EdgeTypeId edge_type(type);
      const std::vector<uint64_t>& destinations = to_expand[source.schema.DestinationOf(edge_type).value];
      const auto drawn = DrawInEdges(graph, {.edge_type = edge_type, .fanout = fanouts[type], .excluded = hidden[type]},
                                     destinations, spec.seed, {.epoch = kMarketEpoch, .step = step, .hop = hop});
      std::vector<uint64_t>& nodes = batch.nodes[source.schema.SourceOf(edge_type).value];
      for (size_t i = 0; i < destinations.size(); ++i) {
        in_edges[{type, destinations[i]}] = drawn[i];
        for (const uint64_t node : drawn[i]) {
          if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
        }
      }
    }
    // Layers are listed from the last hop to the first.
    std::vector<std::vector<uint32_t>> blocks;
    for (uint16_t type = 0; type < fanouts.size(); ++type) {
      if (fanouts[type] == 0) continue;
      const std::vector<uint64_t>& nodes = batch.nodes[source.schema.SourceOf(EdgeTypeId(type)).value];
      std::vector<uint32_t> indptr = {0}, indices;
      for (const uint64_t row : met[source.schema.DestinationOf(EdgeTypeId(type)).value]) {
        for (const uint64_t node : in_edges[{type, row}]) {
          indices.push_back(static_cast<uint32_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin()));
        }
        indptr.push_back(static_cast<uint32_t>(indices.size()));
      }
      blocks.push_back(std::move(indptr));
      blocks.push_back(std::move(indices));
    }
    batch.edges.insert(batch.edges.begin(), blocks.begin(), blocks.end());
    batch.layer_counts.insert(batch.layer_counts.begin(), {sizes(), num_outputs});
  }
  return batch;
}

using Ends = std::pair<uint64_t, uint64_t>;  // source, destination

// Hides an edge and its reverse. `hidden` is sorted before it is used.
void Hide(const Ends& edge, const sampler::LinkType& type, EdgeExclusions* hidden) {
  const GlobalNodeId source(edge.first), destination(edge.second);
  (*hidden)[type.edge_type.value].push_back({.destination = destination, .source = source});
  (*hidden)[type.reverse_type->value].push_back({.destination = source, .source = destination});
}

// Returns the original ids of the seeds, whose rows are numbered type after type.
std::vector<uint64_t> SeedIds(const PortableBatch& batch) {
  std::vector<uint64_t> ids;
  for (const std::vector<uint64_t>& of_type : ListSeeds(batch)) ids.insert(ids.end(), of_type.begin(), of_type.end());
  return ids;
}

// Compares batches of `plan` for one trainer and for the last of two, over one partition and three, with the reference
// without the edges that hidden_of(batch of one trainer, its seeds in original ids) returns.
template <class HiddenOf>
void ExpectEachExpandedOnce(const graph::SourceGraph& source, sampler::EpochPlan plan, uint32_t step,
                            const HiddenOf& hidden_of) {
  const sampler::SamplingSpec once = ThreeHops(source, Expand::kOnce), always = ThreeHops(source, Expand::kAlways);
  std::vector<PortableBatch> of_one_trainer;
  for (const uint32_t num_partitions : {1u, 3u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 6);
    EdgeExclusions hidden;
    for (const uint32_t num_trainers : {1u, 2u}) {
      plan.num_trainers = num_trainers;
      plan.rank = Rank(num_trainers - 1);
      const MiniBatch batch = BatchOfMarket(test, once, plan, step), anew = BatchOfMarket(test, always, plan, step);
      const PortableBatch made = testing::ToPortable(*test.graph, batch);
      const PortableBatch made_anew = testing::ToPortable(*test.graph, anew);
      EXPECT_EQ(ListSeeds(made), ListSeeds(made_anew)) << "seeds do not depend on what hops expand";
      if (num_trainers == 1) hidden = hidden_of(batch, SeedIds(made));
      for (std::vector<sampler::EdgeEnds>& of_type : hidden) std::sort(of_type.begin(), of_type.end());
      const std::string where = std::to_string(num_partitions) + " partitions, " + std::to_string(num_trainers) +
                                " trainers, step " + std::to_string(step);
      EXPECT_EQ(made, ExpandEachOnce(source, once, ListSeeds(made), step, hidden)) << where;
      if (num_trainers == 1) of_one_trainer.push_back(made);
      // Checks that the test would detect repeated expansion and missing exclusion.
      EXPECT_NE(made, made_anew);
      EXPECT_NE(made, ExpandEachOnce(source, once, ListSeeds(made), step, EdgeExclusions(hidden.size()))) << where;
    }
  }
  EXPECT_EQ(of_one_trainer[0], of_one_trainer[1]);
}

class OnceLinksTest : public ::testing::TestWithParam<NegativeKind> {};

TEST_P(OnceLinksTest, LinksAndTheirNegativesAreExpandedOnceWithoutTheStepsEdges) {
  const graph::SourceGraph source = Market();
  const std::vector<sampler::LinkType> types = {{TypeNamed(source, "buys"), TypeNamed(source, "rev_buys")},
                                                {TypeNamed(source, "similar"), TypeNamed(source, "rev_similar")}};
  sampler::EpochPlan plan{
      .seed_type = source.schema.DestinationOf(types[0].edge_type), .split = "half", .batch_size = 20};
  plan.seeds = sampler::LinkPlan{.types = types, .negatives = {GetParam(), 3}};
  for (const uint32_t step : {0u, 3u}) {
    ExpectEachExpandedOnce(source, plan, step, [&](const MiniBatch& batch, const std::vector<uint64_t>& seeds) {
      EdgeExclusions hidden(source.schema.num_edge_types());
      const sampler::LinkSeeds& links = *batch.links;
      EXPECT_EQ(links.sources.size(), plan.batch_size);
      EXPECT_EQ(links.negatives_per_pair, 3u);
      for (size_t i = 0; i < links.sources.size(); ++i) {
        Hide({seeds[links.sources[i]], seeds[links.destinations[i]]}, types[links.relations[i]], &hidden);
      }
      return hidden;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Negatives, OnceLinksTest,
                         ::testing::Values(NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                           NegativeKind::kInDegree, NegativeKind::kGlobalUniform),
                         [](const auto& test) { return std::string(ToString(test.param)); });

// Pairs, negatives and their weights refer to rows of the seeds, which are numbered before any expansion.
TEST_P(OnceLinksTest, PairsAndNegativesAreThoseOfExpandAlways) {
  const graph::SourceGraph source = Market();
  const EdgeTypeId buys = TypeNamed(source, "buys");
  sampler::EpochPlan plan{.seed_type = source.schema.DestinationOf(buys), .split = "half", .batch_size = 20};
  plan.seeds = sampler::LinkPlan{.types = {{buys, TypeNamed(source, "rev_buys")}}, .negatives = {GetParam(), 3}};
  for (const uint32_t num_partitions : {1u, 3u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 6);
    const MiniBatch once = BatchOfMarket(test, ThreeHops(source, Expand::kOnce), plan, 1);
    const MiniBatch always = BatchOfMarket(test, ThreeHops(source, Expand::kAlways), plan, 1);
    sampler::testing::ExpectSameLinks(*once.links, *always.links);
  }
}

TEST(OnceEdgesTest, LabeledEdgesAreExpandedOnceWithoutTheStepsEdges) {
  const graph::SourceGraph source = Market();
  const sampler::LinkType type{TypeNamed(source, "buys"), TypeNamed(source, "rev_buys")};
  sampler::EpochPlan plan{.seed_type = source.schema.DestinationOf(type.edge_type), .split = "half", .batch_size = 20};
  plan.seeds = sampler::EdgePlan{
      .edge_type = type.edge_type, .label = "stars", .exclude_batch = true, .exclude_reverse = type.reverse_type};
  for (const uint32_t step : {0u, 3u}) {
    ExpectEachExpandedOnce(source, plan, step, [&](const MiniBatch& batch, const std::vector<uint64_t>& seeds) {
      EdgeExclusions hidden(source.schema.num_edge_types());
      const sampler::EdgeSeeds& edges = *batch.edges;
      EXPECT_EQ(edges.sources.size(), plan.batch_size);
      for (size_t i = 0; i < edges.sources.size(); ++i) {
        const Ends ends(seeds[edges.sources[i]], seeds[edges.destinations[i]]);
        EXPECT_EQ(edges.labels.values<float>()[i], static_cast<float>((ends.first + 2 * ends.second) % 5));
        Hide(ends, type, &hidden);
      }
      return hidden;
    });
  }
}

}  // namespace
}  // namespace espalier::shard
