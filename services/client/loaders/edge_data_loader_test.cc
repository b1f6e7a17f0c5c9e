// EdgeDataLoader: batches for link prediction from splits, lists and shares, in the order of steps.
#include "services/client/loaders/edge_data_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/client/testing/ranks.h"
#include "services/client/testing/served_graph.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::client {
namespace {

using sampler::MiniBatch;
using sampler::NegativeKind;
using sampler::testing::ExpectSameBatch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ServedGraph;

constexpr EdgeTypeId kLinkType(0);
constexpr NodeTypeId kLinkEnd(0);
constexpr uint64_t kLinksPerBatch = 64;

Result<MiniBatch> AsDrawn(MiniBatch batch, const Deadline&) { return batch; }

// 200 training links in both directions.
EdgeLoaderOptions LinkOptions(NegativeKind kind = NegativeKind::kUniform) {
  EdgeLoaderOptions options{.batch_size = kLinksPerBatch, .negatives = {kind, 3}, .reverse_types = {}, .sampling = {}};
  options.reverse_types = {{kLinkType, kLinkType}};
  options.sampling.layers = {{{4}}, {{5}}};
  options.sampling.seed = 21;
  return options;
}

class EdgeDataLoaderTest : public ::testing::Test {
 protected:
  EdgeDataLoaderTest() {
    auto session = Connect({.addresses = served_.addresses()});
    ESPALIER_CHECK(session.ok()) << session.status().ToString();
    partitions_ = session->graph;
  }
  std::unique_ptr<DistGraph> MakeGraph(uint32_t rank, uint32_t world_size) const {
    return testing::GraphOfRank(partitions_, rank, world_size);
  }
  template <class Edges>
  static std::vector<MiniBatch> CollectBatches(const DistGraph& graph, const Edges& edges,
                                               const EdgeLoaderOptions& options, uint32_t first_step = 0) {
    return testing::BatchesOfEpoch(graph, edges, options, /*epoch=*/1, first_step);
  }
  EdgeList ReadLinks(const DistGraph& graph, graph::SplitPartName part = graph::SplitPartName::kTrain) const {
    auto links = ReadSplitEdges(graph, kLinkType, "links", part);
    ESPALIER_CHECK(links.ok()) << links.status().ToString();
    return *std::move(links);
  }
  // The batch of the built-in trainer.
  MiniBatch TrainersBatch(const EdgeLoaderOptions& options, uint32_t step, uint32_t num_trainers, uint32_t rank) const {
    sampler::EpochPlan plan{.seed_type = kLinkEnd, .split = "links", .batch_size = options.batch_size};
    plan.seeds = sampler::LinkPlan{.types = {{kLinkType, kLinkType}}, .negatives = options.negatives};
    plan.num_trainers = num_trainers;
    plan.rank = Rank(rank);
    auto sampler = sampler::FanoutSampler::Make(served_.local_graph(), options.sampling);
    ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
    auto batch = sampler::MakeLinkBatch(served_.local_graph(), *sampler, served_.local().book, plan,
                                        options.sampling.seed, 1, step, /*want_edge_ids=*/false, Soon());
    ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
    return *std::move(batch);
  }

  using LinkEnds = std::vector<std::pair<GlobalNodeId, GlobalNodeId>>;
  static LinkEnds ToPairs(const MiniBatch& batch) {
    LinkEnds pairs;
    const std::vector<GlobalNodeId>& nodes = batch.nodes[kLinkEnd.value];
    for (size_t i = 0; i < batch.links->sources.size(); ++i) {
      pairs.emplace_back(nodes[batch.links->sources[i]], nodes[batch.links->destinations[i]]);
    }
    return pairs;
  }
  static LinkEnds ToPairs(const EdgeList& edges) {
    LinkEnds pairs;
    for (size_t i = 0; i < edges.size(); ++i) pairs.emplace_back(edges.sources[i], edges.destinations[i]);
    return pairs;
  }

  const ServedGraph served_{testing::SmallGraph(), 2};
  std::shared_ptr<sampler::PartitionedGraph> partitions_;
};

TEST_F(EdgeDataLoaderTest, SplitsAndListsOfAllRanksGiveTheBatchesOfTheTrainer) {
  for (const NegativeKind kind : {NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                  NegativeKind::kInDegree, NegativeKind::kGlobalUniform}) {
    EdgeLoaderOptions options = LinkOptions(kind);
    options.threads = 2;
    for (const uint32_t world_size : {1u, 3u}) {
      for (uint32_t rank = 0; rank < world_size; ++rank) {
        const auto graph = MakeGraph(rank, world_size);
        const EdgesOfSplit split{{kLinkType}, "links"};
        const std::vector<MiniBatch> of_split = CollectBatches(*graph, split, options);
        const std::vector<MiniBatch> of_list = CollectBatches(*graph, ReadLinks(*graph), options);
        ASSERT_EQ(of_split.size(), 4u);  // 64 + 64 + 64 + 8 links
        ASSERT_EQ(of_list.size(), 4u);
        for (uint32_t step = 0; step < 4; ++step) {
          const MiniBatch expected = TrainersBatch(options, step, world_size, rank);
          ExpectSameBatch(of_split[step], expected);
          ExpectSameBatch(of_list[step], expected);
        }
      }
    }
  }
}

TEST_F(EdgeDataLoaderTest, SharesVisitEachEdgeOnceInEpochsOfEqualLength) {
  const auto whole_graph = MakeGraph(0, 1);
  std::vector<GlobalEdgeId> ids;
  for (uint64_t id = 1; id < whole_graph->num_edges(kLinkType); id += 50) ids.emplace_back(id);
  for (const SplitBy by : {SplitBy::kEven, SplitBy::kLocality}) {
    for (const NegativeKind kind : {NegativeKind::kUniform, NegativeKind::kInDegree}) {
      std::vector<GlobalEdgeId> seen;
      std::set<size_t> lengths;
      for (uint32_t rank = 0; rank < 3; ++rank) {
        const auto graph = MakeGraph(rank, 3);
        auto share = EdgeSplit(*graph, kLinkType, ids, {.by = by});
        ASSERT_TRUE(share.ok()) << share.status().ToString();
        const std::vector<MiniBatch> batches = CollectBatches(*graph, *share, LinkOptions(kind));
        lengths.insert(batches.size());
        for (const MiniBatch& batch : batches) {
          const std::vector<GlobalEdgeId>& of_batch = batch.links->edge_ids;
          EXPECT_EQ(batch.global_num_seeds, of_batch.size());
          ASSERT_EQ(of_batch.size(), batch.links->sources.size());
          EXPECT_LE(of_batch.size(), kLinksPerBatch);
          auto ends = MakeEdgeList(*graph, kLinkType, of_batch);
          ASSERT_TRUE(ends.ok()) << ends.status().ToString();
          EXPECT_EQ(ToPairs(batch), ToPairs(*ends));
          seen.insert(seen.end(), of_batch.begin(), of_batch.end());
        }
      }
      EXPECT_EQ(lengths.size(), 1u);
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, ids);
    }
  }
}

// Counts distinct negatives: if all ranks drew the same ones, they would together have as many as one rank.
TEST_F(EdgeDataLoaderTest, RanksDrawTheirOwnNegatives) {
  for (const NegativeKind kind :
       {NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInDegree, NegativeKind::kGlobalUniform}) {
    std::vector<MiniBatch> first_batches;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      const auto graph = MakeGraph(rank, 3);
      EdgeLoaderOptions options = LinkOptions(kind);
      options.shuffle = false;
      const EdgeList links = ReadLinks(*graph);
      first_batches.push_back(
          CollectBatches(*graph, EdgeShare{.edges = links, .largest = links.size()}, options).front());
      if (rank > 0) continue;
      const auto alone = MakeGraph(0, 1);
      ExpectSameBatch(first_batches.front(), CollectBatches(*alone, links, options).front());
    }
    std::set<std::vector<GlobalNodeId>> drawn;
    for (const MiniBatch& batch : first_batches) {
      EXPECT_EQ(ToPairs(batch), ToPairs(first_batches.front()));
      std::vector<GlobalNodeId> negatives;
      for (const uint32_t row : batch.links->negative_destinations) {
        negatives.push_back(batch.nodes[kLinkEnd.value][row]);
      }
      drawn.insert(negatives);
    }
    EXPECT_EQ(drawn.size(), 3u);
  }
}

TEST_F(EdgeDataLoaderTest, RanksWithoutEdgesGetEmptyBatches) {
  const auto graph = MakeGraph(1, 2);
  const EdgeShare none{.edges = {.type = kLinkType}, .largest = 3 * kLinksPerBatch};
  for (const NegativeKind kind : {NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                  NegativeKind::kInDegree, NegativeKind::kGlobalUniform}) {
    const std::vector<MiniBatch> batches = CollectBatches(*graph, none, LinkOptions(kind));
    ASSERT_EQ(batches.size(), 3u);
    for (const MiniBatch& batch : batches) {
      EXPECT_EQ(batch.num_seeds, 0u);
      EXPECT_TRUE(batch.links->sources.empty());
      EXPECT_TRUE(batch.links->negative_destinations.empty());
    }
  }
}

TEST_F(EdgeDataLoaderTest, ExcludesEdgesOfBatchAndReversesByDefault) {
  const auto graph = MakeGraph(0, 1);
  EdgeLoaderOptions options = LinkOptions();
  options.sampling.layers = {{{sampler::kFullNeighborhood}}};
  size_t drawn_unless_excluded = 0;
  for (const bool exclude : {true, false}) {
    options.exclude_batch = exclude;
    for (const MiniBatch& batch : CollectBatches(*graph, EdgesOfSplit{{kLinkType}, "links"}, options)) {
      const LinkEnds pairs = ToPairs(batch);
      std::set<std::pair<GlobalNodeId, GlobalNodeId>> hidden(pairs.begin(), pairs.end());
      for (const auto& [source, destination] : pairs) hidden.emplace(destination, source);
      const std::vector<GlobalNodeId>& nodes = batch.nodes[kLinkEnd.value];
      const std::vector<GlobalNodeId> seeds(nodes.begin(), nodes.begin() + batch.num_seeds);
      const auto whole = graph->InSubgraph({{kLinkEnd, seeds}});
      ASSERT_TRUE(whole.ok()) << whole.status().ToString();
      const FrontierRelation& in_edges = whole->relations[0];
      const sampler::Block& block = batch.layers[0].blocks[0];
      for (size_t row = 0; row < batch.num_seeds; ++row) {
        std::vector<GlobalNodeId> drawn, expected;
        for (uint32_t e = block.indptr[row]; e < block.indptr[row + 1]; ++e) drawn.push_back(nodes[block.indices[e]]);
        for (uint64_t e = in_edges.offsets[row]; e < in_edges.offsets[row + 1]; ++e) {
          const bool is_hidden = hidden.contains({in_edges.sources[e], seeds[row]});
          if (is_hidden && !exclude) ++drawn_unless_excluded;
          if (!is_hidden || !exclude) expected.push_back(in_edges.sources[e]);
        }
        EXPECT_EQ(drawn, expected);
      }
    }
  }
  EXPECT_GE(drawn_unless_excluded, 200u);  // at least every link
}

TEST_F(EdgeDataLoaderTest, KeepsOrderAndDropsLastBatch) {
  const auto graph = MakeGraph(0, 1);
  EdgeLoaderOptions options = LinkOptions();
  options.batch_size = 16;
  options.shuffle = false;
  const EdgesOfSplit split{{kLinkType}, "links", graph::SplitPartName::kValidation};
  const LinkEnds expected = ToPairs(ReadLinks(*graph, graph::SplitPartName::kValidation));
  ASSERT_EQ(expected.size(), 50u);
  const auto pairs = [&](const std::vector<MiniBatch>& batches) {
    LinkEnds all;
    for (const MiniBatch& batch : batches) {
      const LinkEnds of_batch = ToPairs(batch);
      all.insert(all.end(), of_batch.begin(), of_batch.end());
    }
    return all;
  };
  const std::vector<MiniBatch> batches = CollectBatches(*graph, split, options);
  EXPECT_EQ(batches.size(), 4u);
  EXPECT_EQ(pairs(batches), expected);
  const std::vector<MiniBatch> later = CollectBatches(*graph, split, options, /*first_step=*/2);
  ASSERT_EQ(later.size(), 2u);
  ExpectSameBatch(later[0], batches[2]);

  options.last_batch = LastBatch::kDrop;
  const LinkEnds full(expected.begin(), expected.begin() + 48);
  EXPECT_EQ(pairs(CollectBatches(*graph, split, options)), full);
  EXPECT_EQ(pairs(CollectBatches(*graph, ReadLinks(*graph, graph::SplitPartName::kValidation), options)), full);
}

TEST_F(EdgeDataLoaderTest, NegativesAreOptional) {
  const auto graph = MakeGraph(0, 1);
  EdgeLoaderOptions options = LinkOptions();
  options.negatives.count = 0;
  LinkEnds seen;
  for (const MiniBatch& batch : CollectBatches(*graph, EdgesOfSplit{{kLinkType}, "links"}, options)) {
    EXPECT_EQ(batch.links->negatives_per_pair, 0u);
    EXPECT_TRUE(batch.links->negative_destinations.empty());
    EXPECT_TRUE(batch.links->negative_weights.empty());
    const LinkEnds pairs = ToPairs(batch);
    std::set<GlobalNodeId> ends;
    for (const auto& [source, destination] : pairs) ends.insert({source, destination});
    EXPECT_EQ(batch.num_seeds, ends.size());
    seen.insert(seen.end(), pairs.begin(), pairs.end());
  }
  LinkEnds expected = ToPairs(ReadLinks(*graph));
  std::sort(seen.begin(), seen.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(seen, expected);
}

TEST_F(EdgeDataLoaderTest, ReturnsCollatedBatchesUntilError) {
  const auto graph = MakeGraph(0, 1);
  const auto loader = EdgeDataLoader<uint32_t>::Make(*graph, EdgesOfSplit{{kLinkType}, "links"}, LinkOptions(),
                                                     [](MiniBatch batch, const Deadline&) -> Result<uint32_t> {
                                                       if (batch.step == 2) return DataLoss("of step 2");
                                                       return batch.step * 1000 + batch.global_num_seeds;
                                                     });
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  EXPECT_EQ((*loader)->Next().status().code(), StatusCode::kFailedPrecondition);
  for (int epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE((*loader)->StartEpoch(static_cast<uint32_t>(epoch)).ok());
    std::vector<uint32_t> made;
    Status status;
    for (;;) {
      const auto batch = (*loader)->Next();
      status = batch.status();
      if (!batch.ok() || !batch->has_value()) break;
      made.push_back(**batch);
    }
    EXPECT_THAT(made, ElementsAre(64u, 1064u));
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  }
}

TEST_F(EdgeDataLoaderTest, RefusesInvalidEdgesAndOptions) {
  const auto graph = MakeGraph(0, 1);
  const auto refusal = [&](const auto& edges, const EdgeLoaderOptions& options) {
    return DistEdgeDataLoader::Make(*graph, edges, options, AsDrawn).status();
  };
  const EdgesOfSplit links{{kLinkType}, "links"};
  EdgeLoaderOptions options = LinkOptions();
  EXPECT_EQ(refusal(EdgesOfSplit{{kLinkType}, "none"}, options).code(), StatusCode::kNotFound);
  options.reverse_types = {{EdgeTypeId(3), kLinkType}};
  EXPECT_THAT(refusal(links, options).message(), HasSubstr("edge type 3, which is not an edge type of the loader"));
  options = LinkOptions();
  options.batch_size = 0;
  EXPECT_THAT(refusal(links, options).message(), HasSubstr("batch size"));
  options = LinkOptions(NegativeKind::kJoint);
  options.negatives.count = 0;
  EXPECT_THAT(refusal(links, options).message(), HasSubstr("0 negatives of kind Joint for each edge"));
  options = LinkOptions();
  EXPECT_THAT(refusal(EdgesOfSplit{{}, "links"}, options).message(), HasSubstr("not an edge type of the loader"));
  EXPECT_THAT(refusal(EdgeList{.type = EdgeTypeId(0), .sources = {GlobalNodeId(0)}}, options).message(),
              HasSubstr("1 sources, 0 destinations"));
  const GlobalNodeId beyond(graph->num_nodes(kLinkEnd));
  EXPECT_THAT(
      refusal(EdgeList{.type = kLinkType, .sources = {GlobalNodeId(0)}, .destinations = {beyond}}, options).message(),
      HasSubstr("endpoint of an edge: node 1500"));
  EdgeShare impossible{.edges = ReadLinks(*graph), .largest = 1};
  EXPECT_THAT(refusal(impossible, options).message(),
              HasSubstr("200 edges, expected at most EdgeShare::largest, which is 1"));
  options.reverse_types.clear();
  EXPECT_THAT(refusal(EdgesOfSplit{{}, "links"}, options).message(), HasSubstr("names no edges"));
  EXPECT_THAT(refusal(EdgesOfSplit{{EdgeTypeId(7)}, "links"}, options).message(),
              HasSubstr("edge type 7 does not exist"));
}

}  // namespace
}  // namespace espalier::client
