#include "services/sampler/batches/fanout_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/base/philox.h"
#include "services/base/testing/soon.h"
#include "services/sampler/testing/node_ids.h"
#include "services/sampler/testing/reference_neighbor_source.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HomogeneousSchema;
using testing::Ids;
using ::testing::IsEmpty;
using testing::ReferenceEdges;
using testing::ReferenceNeighborSource;

SamplingSpec FullSpec(size_t num_layers, size_t num_edge_types = 1) {
  return {.layers = std::vector<LayerSpec>(num_layers, {std::vector<int32_t>(num_edge_types, kFullNeighborhood)})};
}

//   0 --> 1 --> 2 <-- 3      4 (alone)
//   ^----------/
TEST(FanoutSamplerTest, BuildsTheBlocksOfASmallGraph) {
  ReferenceNeighborSource source(HomogeneousSchema(), {5}, {{{0, 1}, {1, 2}, {3, 2}, {2, 0}}});

  const Result<MiniBatch> batch = SampleMiniBatch(source, FullSpec(2), 3, 9, NodeTypeId(0), Ids({2, 4}), 7, Soon());

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->epoch, 3u);
  EXPECT_EQ(batch->step, 9u);
  EXPECT_EQ(batch->num_seeds, 2u);
  EXPECT_EQ(batch->global_num_seeds, 7u);
  // First the seeds, then the in-neighbors of 2, then those of 1. The second hop expands 2 again and finds the same
  // nodes.
  EXPECT_EQ(batch->nodes[0], Ids({2, 4, 1, 3, 0}));
  ASSERT_EQ(batch->layers.size(), 2u);
  const BatchLayer& last = batch->layers[1];
  EXPECT_THAT(last.num_outputs, ElementsAre(2));
  EXPECT_THAT(last.num_inputs, ElementsAre(4));
  EXPECT_THAT(last.blocks[0].indptr, ElementsAre(0, 2, 2));
  EXPECT_THAT(last.blocks[0].indices, ElementsAre(2, 3));
  const BatchLayer& first = batch->layers[0];
  EXPECT_THAT(first.num_outputs, ElementsAre(4));
  EXPECT_THAT(first.num_inputs, ElementsAre(5));
  EXPECT_THAT(first.blocks[0].indptr, ElementsAre(0, 2, 2, 3, 3));
  EXPECT_THAT(first.blocks[0].indices, ElementsAre(2, 3, 4));
  EXPECT_THAT(first.blocks[0].edge_ids, IsEmpty());
}

graph::GraphSchema TypedSchema() {
  Result<graph::GraphSchema> schema = graph::GraphSchema::Make(
      {"author", "paper"}, {{"author", "writes", "paper"}, {"paper", "by", "author"}, {"paper", "cites", "paper"}});
  ESPALIER_CHECK(schema.ok()) << schema.status().ToString();
  return *std::move(schema);
}

TEST(FanoutSamplerTest, LeavesOutRelationsWithoutFanOut) {
  // Edge types: 0 author:writes:paper, 1 paper:by:author, 2 paper:cites:paper.
  ReferenceNeighborSource source(TypedSchema(), {3, 3}, {{{0, 0}, {2, 0}}, {{0, 0}, {1, 2}}, {{1, 0}, {2, 1}}});
  SamplingSpec spec = FullSpec(2, 3);
  spec.layers[0].fanouts = {0, kFullNeighborhood, 0};  // the layer farthest from the seeds: only the papers of authors

  const Result<MiniBatch> batch = SampleMiniBatch(source, spec, 0, 0, NodeTypeId(1), Ids({0}), 1, Soon());

  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  const BatchLayer& last = batch->layers[1];
  ASSERT_EQ(last.blocks.size(), 3u);
  EXPECT_THAT(last.num_outputs, ElementsAre(0, 1));
  EXPECT_THAT(last.num_inputs, ElementsAre(2, 2));
  EXPECT_THAT(last.blocks[1].indptr, ElementsAre(0)) << "no author is a destination yet";
  const BatchLayer& first = batch->layers[0];
  ASSERT_EQ(first.blocks.size(), 1u);
  EXPECT_EQ(first.blocks[0].edge_type, EdgeTypeId(1));
  EXPECT_THAT(first.blocks[0].indptr, ElementsAre(0, 1, 2));
  EXPECT_EQ(batch->nodes[0], Ids({0, 2}));
  EXPECT_EQ(batch->nodes[1], Ids({0, 1}));
}

SamplingSpec Once(SamplingSpec spec) {
  spec.draw.expand = Expand::kOnce;
  return spec;
}

void ExpectSameLayers(const MiniBatch& a, const MiniBatch& b) {
  EXPECT_EQ(a.nodes, b.nodes);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t l = 0; l < a.layers.size(); ++l) {
    EXPECT_EQ(a.layers[l].num_inputs, b.layers[l].num_inputs);
    EXPECT_EQ(a.layers[l].num_outputs, b.layers[l].num_outputs);
    ASSERT_EQ(a.layers[l].blocks.size(), b.layers[l].blocks.size());
    for (size_t i = 0; i < a.layers[l].blocks.size(); ++i) {
      EXPECT_EQ(a.layers[l].blocks[i].edge_type, b.layers[l].blocks[i].edge_type);
      EXPECT_EQ(a.layers[l].blocks[i].indptr, b.layers[l].blocks[i].indptr);
      EXPECT_EQ(a.layers[l].blocks[i].indices, b.layers[l].blocks[i].indices);
      EXPECT_EQ(a.layers[l].blocks[i].edge_ids, b.layers[l].blocks[i].edge_ids);
    }
  }
}

// The sources of a row of a layer's block, as global ids.
std::vector<GlobalNodeId> SourcesOfRow(const MiniBatch& batch, size_t layer, uint32_t row) {
  const Block& block = batch.layers[layer].blocks[0];
  std::vector<GlobalNodeId> sources;
  for (uint32_t k = block.indptr[row]; k < block.indptr[row + 1]; ++k) {
    sources.push_back(batch.nodes[0][block.indices[k]]);
  }
  return sources;
}

//   3 --> 0 <-- 1 <-- 0, 2     The seed 0 is its neighbor's neighbor.
TEST(FanoutSamplerTest, ExpandOnceKeepsInEdgesInEveryLayer) {
  ReferenceNeighborSource source(HomogeneousSchema(), {4}, {{{1, 0}, {3, 0}, {0, 1}, {2, 1}}});
  const Result<MiniBatch> batch = SampleMiniBatch(source, Once(FullSpec(3)), 0, 0, NodeTypeId(0), Ids({0}), 1, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->nodes[0], Ids({0, 1, 3, 2}));
  EXPECT_THAT(batch->layers[2].blocks[0].indptr, ElementsAre(0, 2));
  EXPECT_THAT(batch->layers[2].blocks[0].indices, ElementsAre(1, 2));
  EXPECT_THAT(batch->layers[1].blocks[0].indptr, ElementsAre(0, 2, 4, 4));
  EXPECT_THAT(batch->layers[1].blocks[0].indices, ElementsAre(1, 2, 0, 3));
  EXPECT_THAT(batch->layers[0].blocks[0].indptr, ElementsAre(0, 2, 4, 4, 4));
  EXPECT_THAT(batch->layers[0].blocks[0].indices, ElementsAre(1, 2, 0, 3));
}

ReferenceEdges RandomEdges(uint64_t num_nodes, size_t num_edges, uint64_t seed) {
  PhiloxStream random(seed, 0);
  const auto n = static_cast<uint32_t>(num_nodes);
  ReferenceEdges edges;
  for (size_t i = 0; i < num_edges; ++i) edges.push_back({random.NextBelow(n), random.NextBelow(n)});
  return edges;
}

// Every drawn edge exists, no node has more edges than the fan-out, rows are distinct nodes, prefixes are as
// documented.
TEST(FanoutSamplerTest, KeepsTheInvariantsOfAMiniBatch) {
  constexpr uint64_t kNodes = 200;
  ReferenceNeighborSource source(HomogeneousSchema(), {kNodes}, {RandomEdges(kNodes, 3000, 1)});
  const SamplingSpec spec{.layers = {{{7}}, {{4}}, {{3}}}, .seed = 5};
  Result<FanoutSampler> sampler = FanoutSampler::Make(source, spec);
  ASSERT_TRUE(sampler.ok());
  for (uint32_t step = 0; step < 5; ++step) {
    const std::vector<GlobalNodeId> seeds = Ids({step, step + 50, step + 100});
    const Result<MiniBatch> batch =
        sampler->Sample({.step = step, .seeds = seeds, .global_num_seeds = 3, .want_edge_ids = true}, Soon());
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    const std::vector<GlobalNodeId>& nodes = batch->nodes[0];
    EXPECT_EQ(std::set<GlobalNodeId>(nodes.begin(), nodes.end()).size(), nodes.size());
    EXPECT_THAT(batch->layers[2].num_outputs, ElementsAre(3));
    EXPECT_EQ(batch->layers[0].num_inputs[0], nodes.size());
    for (size_t l = 0; l < 3; ++l) {
      const BatchLayer& layer = batch->layers[l];
      EXPECT_EQ(layer.num_inputs, l == 0 ? layer.num_inputs : batch->layers[l - 1].num_outputs);
      const Block& block = layer.blocks[0];
      ASSERT_EQ(block.indptr.size(), layer.num_outputs[0] + 1);
      ASSERT_EQ(block.edge_ids.size(), block.indices.size());
      for (uint32_t row = 0; row < layer.num_outputs[0]; ++row) {
        const ReferenceEdges in_edges = source.FindInEdges(EdgeTypeId(0), nodes[row].value);
        const uint32_t drawn = block.indptr[row + 1] - block.indptr[row];
        EXPECT_EQ(drawn, std::min<size_t>(in_edges.size(), static_cast<size_t>(spec.layers[l].fanouts[0])));
        for (uint32_t k = block.indptr[row]; k < block.indptr[row + 1]; ++k) {
          ASSERT_LT(block.indices[k], layer.num_inputs[0]);
          const uint64_t neighbor = nodes[block.indices[k]].value;
          EXPECT_TRUE(std::any_of(in_edges.begin(), in_edges.end(),
                                  [neighbor](const auto& edge) { return edge.source == neighbor; }));
        }
      }
    }
  }
}

TEST(FanoutSamplerTest, DoesNotDependOnEarlierBatches) {
  ReferenceNeighborSource source(HomogeneousSchema(), {100}, {RandomEdges(100, 800, 2)});
  const SamplingSpec spec{.layers = {{{3}}, {{3}}}, .seed = 5};
  Result<FanoutSampler> used = FanoutSampler::Make(source, spec);
  ASSERT_TRUE(used.ok());
  const std::vector<GlobalNodeId> others = Ids({50, 51, 52}), seeds = Ids({1, 2, 3});
  ASSERT_TRUE(used->Sample({.step = 4, .seeds = others}, Soon()).ok());

  const Result<MiniBatch> again = used->Sample({.step = 8, .seeds = seeds}, Soon());
  const Result<MiniBatch> fresh = SampleMiniBatch(source, spec, 0, 8, NodeTypeId(0), seeds, 0, Soon());

  ASSERT_TRUE(again.ok() && fresh.ok());
  EXPECT_EQ(again->nodes, fresh->nodes);
  EXPECT_EQ(again->layers[0].blocks[0].indices, fresh->layers[0].blocks[0].indices);
}

TEST(FanoutSamplerTest, EmptyShareIsMiniBatch) {
  ReferenceNeighborSource source(HomogeneousSchema(), {5}, {{{0, 1}}});
  const Result<MiniBatch> batch = SampleMiniBatch(source, FullSpec(2), 0, 0, NodeTypeId(0), {}, 3, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->num_seeds, 0u);
  EXPECT_THAT(batch->layers[0].blocks[0].indptr, ElementsAre(0));
}

TEST(FanoutSamplerTest, RefusesOptionsThatDoNotMatchGraph) {
  ReferenceNeighborSource source(HomogeneousSchema(), {5}, {{{0, 1}}});
  const auto error = [&](const SamplingSpec& spec, uint16_t type, const std::vector<GlobalNodeId>& seeds) {
    return SampleMiniBatch(source, spec, 0, 0, NodeTypeId(type), seeds, 1, Soon()).status();
  };
  EXPECT_THAT(error({.layers = {{{1}}, {{1, 2}}}}, 0, Ids({0})).message(), HasSubstr("layer 1 has 2 fan-outs"));
  EXPECT_THAT(error({.layers = {{{-2}}}}, 0, Ids({0})).message(), HasSubstr("fan-out -2"));
  EXPECT_THAT(error(FullSpec(1), 1, Ids({0})).message(), HasSubstr("seed type 1"));
  EXPECT_THAT(error(FullSpec(1), 0, Ids({5})).message(), HasSubstr("seed 5 is not a node of type 'node'"));
  EXPECT_THAT(error(FullSpec(1), 0, Ids({1, 1})).message(), HasSubstr("distinct"));
  EXPECT_EQ(error(FullSpec(1), 0, Ids({1, 1})).code(), StatusCode::kInvalidArgument);
}

// Full neighborhoods are not random, so drawing a node's in-edges again gives the same edges.
TEST(FanoutSamplerTest, FullNeighborhoodsDoNotDependOnExpand) {
  ReferenceNeighborSource source(TypedSchema(), {40, 60},
                                 {RandomEdges(40, 50, 1), RandomEdges(40, 60, 2), RandomEdges(60, 70, 3)});
  for (const bool want_edge_ids : {false, true}) {
    const std::vector<GlobalNodeId> seeds = Ids({5, 1, 30, 22});
    const BatchRequest request{.seed_type = NodeTypeId(1), .seeds = seeds, .want_edge_ids = want_edge_ids};
    Result<FanoutSampler> always = FanoutSampler::Make(source, FullSpec(4, 3));
    Result<FanoutSampler> once = FanoutSampler::Make(source, Once(FullSpec(4, 3)));
    ASSERT_TRUE(always.ok() && once.ok());
    const Result<MiniBatch> expected = always->Sample(request, Soon());
    const Result<MiniBatch> batch = once->Sample(request, Soon());
    ASSERT_TRUE(expected.ok() && batch.ok()) << batch.status().ToString();
    ASSERT_GT(batch->nodes[1].size(), 10u);
    ExpectSameLayers(*batch, *expected);
  }
}

TEST(FanoutSamplerTest, ExpandOnceUsesDrawsOfFirstHop) {
  ReferenceNeighborSource source(HomogeneousSchema(), {100}, {RandomEdges(100, 3000, 4)});
  const SamplingSpec always{.layers = {{{2}}, {{3}}, {{4}}}, .seed = 8};
  const std::vector<GlobalNodeId> seeds = Ids({9, 4, 70});
  const Result<MiniBatch> batch = SampleMiniBatch(source, Once(always), 1, 2, NodeTypeId(0), seeds, 3, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  ASSERT_EQ(batch->layers[0].num_outputs[0], batch->layers[1].num_inputs[0]);
  for (size_t layer = 0; layer < 2; ++layer) {
    const uint32_t first = batch->layers[layer + 1].num_outputs[0], end = batch->layers[layer].num_outputs[0];
    ASSERT_GT(end, first);
    for (uint32_t row = 0; row < first; ++row) {
      EXPECT_EQ(SourcesOfRow(*batch, layer, row), SourcesOfRow(*batch, layer + 1, row)) << "no second draw";
    }
    // The draws of a hop for a node do not depend on other nodes: a query of that hop's nodes alone gives the same
    // draws.
    for (uint32_t row = first; row < end; ++row) {
      const HopQuery query{.relations = {{.edge_type = EdgeTypeId(0),
                                          .fanout = always.layers[layer].fanouts[0],
                                          .destinations = std::span(batch->nodes[0]).subspan(row, 1)}},
                           .seed = 8,
                           .at = {.epoch = 1, .step = 2, .hop = static_cast<uint32_t>(2 - layer)}};
      const Result<HopSample> drawn = source.SampleInEdges(query, Soon());
      ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
      EXPECT_EQ(SourcesOfRow(*batch, layer, row), drawn->relations[0].sources) << row;
    }
  }
}

TEST(FanoutSamplerTest, SkippedRelationKeepsEarlierDraws) {
  // Edge types: 0 author:writes:paper, 1 paper:by:author, 2 paper:cites:paper. Paper 2 cites 1, paper 1 cites 0, the
  // seed.
  ReferenceNeighborSource source(TypedSchema(), {1, 3}, {{{0, 0}}, {{2, 0}}, {{1, 0}, {2, 1}}});
  SamplingSpec spec = Once(FullSpec(3, 3));
  spec.layers[1].fanouts = {0, kFullNeighborhood, 0};  // the second hop: only the papers of authors
  const Result<MiniBatch> batch = SampleMiniBatch(source, spec, 0, 0, NodeTypeId(1), Ids({0}), 1, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->nodes[1], Ids({0, 1, 2}));
  ASSERT_EQ(batch->layers[0].blocks.size(), 3u);
  const Block& cites = batch->layers[0].blocks[2];
  EXPECT_EQ(cites.edge_type, EdgeTypeId(2));
  // Paper 1 was expanded by the hop that does not sample citations.
  EXPECT_THAT(cites.indptr, ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(cites.indices, ElementsAre(1));
}

TEST(FanoutSamplerTest, EdgesThatLayersShareCountInEachOfThem) {
  ReferenceNeighborSource source(HomogeneousSchema(), {4}, {{{1, 0}, {3, 0}, {0, 1}, {2, 1}}});
  SamplingSpec spec = Once(FullSpec(2));  // 2 edges in the last layer, 4 in the first
  spec.max_edges = 6;
  EXPECT_TRUE(SampleMiniBatch(source, spec, 0, 0, NodeTypeId(0), Ids({0}), 1, Soon()).ok());
  spec.max_edges = 5;
  EXPECT_EQ(SampleMiniBatch(source, spec, 0, 0, NodeTypeId(0), Ids({0}), 1, Soon()).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::sampler
