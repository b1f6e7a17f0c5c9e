// Labels of a step's edges, and batches of these edges: the same for any number of partitions and trainers.
#include "services/sampler/batches/edge_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>

#include "services/graph/preprocess.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/shard/graph_shard.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::shard {
namespace {

using ::testing::HasSubstr;
using testing::TestGraph;

constexpr NodeTypeId kRater(0);
constexpr EdgeTypeId kRated(0);
constexpr uint64_t kRatedPerStep = 24;
constexpr uint64_t kRatingSeed = 31;
using Ends = std::pair<uint64_t, uint64_t>;

int64_t ComputeRating(uint64_t source, uint64_t destination) {
  return static_cast<int64_t>(source * 3 + destination) % 7;
}

// A generated graph with parallel edges. The label of an edge is a function of its ends. The split "rated": 90 edges to
// train, one of them twice, 10 to validate.
graph::SourceGraph RatedGraph() {
  graph::PowerLawOptions options;
  options.num_nodes = 120;
  options.num_edges = 800;
  options.seed = 8;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  graph::EdgeSet& edges = source.edges[0];
  std::vector<int64_t> ratings;
  std::vector<float> scores;
  graph::EdgeSplit& split = source.edge_splits["rated"][kRated.value];
  const auto end = [](const Tensor& ids, int64_t i) { return static_cast<uint64_t>(ids.ValueAsInt(i)); };
  for (int64_t i = 0; i < static_cast<int64_t>(edges.num_edges()); ++i) {
    const int64_t rating = ComputeRating(end(edges.sources, i), end(edges.destinations, i));
    ratings.push_back(rating);
    scores.insert(scores.end(), {static_cast<float>(rating), -0.5F});
  }
  for (int64_t i = 0; i < 100; ++i) {
    graph::EdgePairs& part = i < 90 ? split.train : split.validation;
    const int64_t edge = i == 1 ? 0 : i * 5;
    part.sources.push_back(end(edges.sources, edge));
    part.destinations.push_back(end(edges.destinations, edge));
  }
  const auto count = static_cast<int64_t>(ratings.size());
  edges.columns["rating"] = Tensor::FromVector(std::move(ratings));
  edges.columns["scores"] = Tensor::FromVector(std::move(scores), {count, 2});
  return source;
}

sampler::SeedQuery RatedQuery(uint32_t step) {
  sampler::SeedQuery query{
      .split = "rated", .seed = kRatingSeed, .epoch = 1, .step = step, .batch_size = kRatedPerStep};
  query.edge_types = {kRated};
  query.edge_column = "rating";
  return query;
}

// Returns the step's training edges, computed from the split and the permutation only.
std::vector<Ends> EdgesOfRatedStep(const graph::SourceGraph& source, uint32_t step) {
  const graph::EdgePairs& train = source.edge_splits.at("rated").at(kRated.value).train;
  const sampler::SeedOrder order(RatedQuery(step), train.size());
  std::vector<Ends> edges;
  const uint64_t end = std::min<uint64_t>(train.size(), (step + 1) * kRatedPerStep);
  for (uint64_t at = step * kRatedPerStep; at < end; ++at) {
    edges.emplace_back(train.sources[order.OrdinalAt(at)], train.destinations[order.OrdinalAt(at)]);
  }
  return edges;
}

TEST(EdgeRowsTest, MatchEdgesOfStepForAnyPartitioning) {
  const graph::SourceGraph source = RatedGraph();
  for (const uint32_t num_partitions : {1u, 3u, 5u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 7);
    for (uint32_t step = 0; step < 4; ++step) {
      const std::vector<Ends> edges = EdgesOfRatedStep(source, step);
      sampler::SeedQuery query = RatedQuery(step);
      const Result<sampler::GlobalBatch> batch = test.graph->SeedsOfStep(query, Soon());
      ASSERT_TRUE(batch.ok()) << batch.status().ToString();
      ASSERT_EQ(batch->rows.shape(), std::vector<int64_t>{static_cast<int64_t>(edges.size())});
      query.edge_column = "scores";
      const Result<sampler::GlobalBatch> wide = test.graph->SeedsOfStep(query, Soon());
      ASSERT_TRUE(wide.ok()) << wide.status().ToString();
      ASSERT_EQ(wide->rows.shape(), (std::vector<int64_t>{static_cast<int64_t>(edges.size()), 2}));
      for (size_t i = 0; i < edges.size(); ++i) {
        const int64_t rating = ComputeRating(edges[i].first, edges[i].second);
        EXPECT_EQ(batch->rows.values<int64_t>()[i], rating);
        EXPECT_EQ(wide->rows.values<float>()[2 * i], static_cast<float>(rating));
        EXPECT_EQ(wide->rows.values<float>()[2 * i + 1], -0.5F);
      }
    }
  }
}

TEST(EdgeRowsTest, NamesMissingRows) {
  const auto refusal = [](const std::function<void(graph::SourceGraph&, sampler::SeedQuery&)>& change) {
    graph::SourceGraph source = RatedGraph();
    sampler::SeedQuery query = RatedQuery(0);
    query.batch_size = 1000;
    change(source, query);
    return testing::MakeTestGraph(source, 2, 7).graph->SeedsOfStep(query, Soon()).status();
  };
  EXPECT_TRUE(refusal([](auto&, auto&) {}).ok());
  const Status unknown = refusal([](auto&, sampler::SeedQuery& query) { query.edge_column = "stars"; });
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("has no column 'stars'; it has 'rating', 'scores'"));
  const Status no_edge = refusal([](graph::SourceGraph& source, auto&) {
    graph::EdgePairs& train = source.edge_splits["rated"][kRated.value].train;
    std::set<Ends> edges;
    for (int64_t i = 0; i < static_cast<int64_t>(source.edges[0].num_edges()); ++i) {
      edges.emplace(static_cast<uint64_t>(source.edges[0].sources.ValueAsInt(i)),
                    static_cast<uint64_t>(source.edges[0].destinations.ValueAsInt(i)));
    }
    uint64_t destination = 0;
    while (edges.contains({0, destination})) ++destination;
    train.sources.push_back(0);
    train.destinations.push_back(destination);
  });
  EXPECT_EQ(no_edge.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(no_edge.message(), HasSubstr("is not an edge of the graph"));
  EXPECT_THAT(no_edge.message(), HasSubstr("column 'rating' of the edges of split 'rated'"));
  const Status several = refusal([](graph::SourceGraph& source, auto&) {
    // Adds the first edge once more, with another label.
    graph::EdgeSet& edges = source.edges[0];
    const auto with_another = [](const Tensor& ids) {
      std::vector<uint32_t> longer;
      for (int64_t i = 0; i < ids.num_rows(); ++i) longer.push_back(static_cast<uint32_t>(ids.ValueAsInt(i)));
      longer.push_back(longer.front());
      return Tensor::FromVector(std::move(longer));
    };
    const auto ratings = edges.columns.at("rating").values<int64_t>();
    std::vector<int64_t> other(ratings.begin(), ratings.end());
    other.push_back(100);
    edges.sources = with_another(edges.sources);
    edges.destinations = with_another(edges.destinations);
    edges.columns = {{"rating", Tensor::FromVector(std::move(other))}};
  });
  EXPECT_EQ(several.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(several.message(), HasSubstr("several edges whose rows differ"));
}

TEST(EdgeRowsTest, TakeNoMoreMemoryThanAllowed) {
  const auto status_with = [](uint64_t limit, uint64_t batch_size = kRatedPerStep) {
    graph::PartitionBook book;
    std::vector<graph::Partition> partitions = testing::MakeTestPartitions(RatedGraph(), 1, 7, &book);
    const auto limited = GraphShard::Make(book, std::move(partitions[0]), {.max_edge_row_bytes = limit});
    ESPALIER_CHECK(limited.ok()) << limited.status().ToString();
    sampler::SeedQuery query = RatedQuery(0);
    query.batch_size = batch_size;
    Status status;
    (*limited)->SeedsOfStep(query, Soon(),
                            [&](const Result<sampler::PartitionSeeds>& seeds) { status = seeds.status(); });
    return status;
  };
  constexpr uint64_t kRatingBytes = kRatedPerStep * sizeof(int64_t);
  EXPECT_TRUE(status_with(kRatingBytes).ok());
  const Status too_many = status_with(kRatingBytes - 1);
  EXPECT_EQ(too_many.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(too_many.message(), HasSubstr("of 8 bytes each take more than"));
  const Status too_wide = status_with(7, /*batch_size=*/1);
  EXPECT_EQ(too_wide.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(too_wide.message(),
              HasSubstr("one row of edge column 'rating' has 8 bytes, a response contains at most 7"));
}

TEST(EdgeRowsTest, ComeWithEdgesOfOneTypeOnly) {
  const TestGraph test = testing::MakeTestGraph(RatedGraph(), 1, 7);
  sampler::SeedQuery of_nodes{.node_type = kRater, .split = "rated", .batch_size = 4};
  of_nodes.edge_column = "rating";
  EXPECT_THAT(test.graph->SeedsOfStep(of_nodes, Soon()).status().message(), HasSubstr("only with edges of one type"));
}

// Forwards to another seed source and counts the rows of edge columns that it returns.
class CountedRows final : public sampler::SeedSource {
 public:
  explicit CountedRows(sampler::SeedSource& seeds) : seeds_(seeds) {}
  int64_t num_rows() const { return num_rows_; }

  Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) override {
    return seeds_.Count(type, split, part);
  }
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override {
    return seeds_.CountOfEdges(type, split, part);
  }
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) override {
    Result<sampler::GlobalBatch> batch = seeds_.SeedsOfStep(query, deadline);
    if (batch.ok() && !query.edge_column.empty()) num_rows_ += batch->rows.num_rows();
    return batch;
  }
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override {
    return seeds_.ToGlobalIds(type, nodes, deadline);
  }

 private:
  sampler::SeedSource& seeds_;
  int64_t num_rows_ = 0;
};

// Batches of links with edge columns, as the loaders of programs create them.
TEST(EdgeRowsTest, TrainerReadsOnlyItsShare) {
  const TestGraph test = testing::MakeTestGraph(RatedGraph(), 4, 7);
  auto sampler = sampler::FanoutSampler::Make(*test.graph, {.layers = {{{2}}}, .seed = kRatingSeed});
  ASSERT_TRUE(sampler.ok()) << sampler.status().ToString();
  for (const auto kind : {sampler::NegativeKind::kUniform, sampler::NegativeKind::kJoint}) {
    sampler::EpochPlan plan{.seed_type = kRater, .split = "rated", .batch_size = kRatedPerStep};
    plan.seeds = sampler::LinkPlan{.types = {{kRated}}, .negatives = {kind, 5}};
    plan.links()->edge_columns = {"rating", "scores"};
    for (const uint32_t num_trainers : {1u, 3u, 40u}) {
      CountedRows seeds(*test.graph);
      plan.num_trainers = num_trainers;
      for (uint32_t rank = 0; rank < num_trainers; ++rank) {
        plan.rank = Rank(rank);
        const auto batch = sampler::MakeLinkBatch(seeds, *sampler, test.book, plan, kRatingSeed, /*epoch=*/1,
                                                  /*step=*/0, /*want_edge_ids=*/false, Soon());
        ASSERT_TRUE(batch.ok()) << batch.status().ToString();
        const sampler::LinkSeeds& links = *batch->links;
        const std::vector<uint64_t> nodes = testing::OriginalIds(*test.graph, kRater, batch->nodes[0]);
        const Tensor& ratings = links.rows.at("rating");
        ASSERT_EQ(ratings.shape(), std::vector<int64_t>{static_cast<int64_t>(links.sources.size())});
        ASSERT_EQ(links.rows.at("scores").num_rows(), ratings.num_rows());
        for (size_t i = 0; i < links.sources.size(); ++i) {
          EXPECT_EQ(ratings.values<int64_t>()[i], ComputeRating(nodes[links.sources[i]], nodes[links.destinations[i]]));
        }
      }
      EXPECT_EQ(seeds.num_rows(), static_cast<int64_t>(2 * kRatedPerStep)) << num_trainers;
    }
  }
}

sampler::EpochPlan PlanOfRated(bool exclude, std::optional<EdgeTypeId> reverse) {
  sampler::EpochPlan plan{.seed_type = kRater, .split = "rated", .batch_size = kRatedPerStep};
  plan.seeds =
      sampler::EdgePlan{.edge_type = kRated, .label = "rating", .exclude_batch = exclude, .exclude_reverse = reverse};
  return plan;
}

sampler::MiniBatch RatedBatch(const TestGraph& test, sampler::EpochPlan plan, uint32_t step, uint32_t num_trainers,
                              uint32_t rank) {
  plan.num_trainers = num_trainers;
  plan.rank = Rank(rank);
  auto sampler = sampler::FanoutSampler::Make(*test.graph, {.layers = {{{-1}}}, .seed = kRatingSeed});
  ESPALIER_CHECK(sampler.ok()) << sampler.status().ToString();
  auto batch = sampler::MakeEdgeBatch(*test.graph, *sampler, test.book, plan, kRatingSeed, /*epoch=*/1, step,
                                      /*want_edge_ids=*/false, Soon());
  ESPALIER_CHECK(batch.ok()) << batch.status().ToString();
  return *std::move(batch);
}

TEST(EdgeBatchTest, SharesAreTheStepsEdgesWithTheirLabels) {
  const graph::SourceGraph source = RatedGraph();
  for (const uint32_t num_partitions : {1u, 4u}) {
    const TestGraph test = testing::MakeTestGraph(source, num_partitions, 7);
    for (const uint32_t num_trainers : {1u, 3u}) {
      for (uint32_t step = 0; step < 4; ++step) {
        std::multiset<Ends> taken;
        for (uint32_t rank = 0; rank < num_trainers; ++rank) {
          const sampler::MiniBatch batch = RatedBatch(test, PlanOfRated(false, {}), step, num_trainers, rank);
          const std::vector<uint64_t> nodes = testing::OriginalIds(*test.graph, kRater, batch.nodes[0]);
          const sampler::EdgeSeeds& edges = *batch.edges;
          EXPECT_EQ(batch.global_num_seeds, EdgesOfRatedStep(source, step).size());
          for (size_t i = 0; i < edges.sources.size(); ++i) {
            ASSERT_LT(edges.sources[i], batch.num_seeds);
            ASSERT_LT(edges.destinations[i], batch.num_seeds);
            const Ends ends(nodes[edges.sources[i]], nodes[edges.destinations[i]]);
            EXPECT_EQ(edges.labels.values<int64_t>()[i], ComputeRating(ends.first, ends.second));
            taken.insert(ends);
          }
        }
        const std::vector<Ends> all = EdgesOfRatedStep(source, step);
        EXPECT_EQ(taken, std::multiset<Ends>(all.begin(), all.end())) << num_partitions << " " << num_trainers;
      }
    }
  }
}

TEST(EdgeBatchTest, UsesPartOfPlan) {
  const graph::SourceGraph source = RatedGraph();
  const graph::EdgePairs& validation = source.edge_splits.at("rated").at(kRated.value).validation;
  const TestGraph test = testing::MakeTestGraph(source, 3, 7);
  sampler::EpochPlan plan = PlanOfRated(false, {});
  plan.part = graph::SplitPartName::kValidation;
  plan.shuffle = false;
  const sampler::MiniBatch batch = RatedBatch(test, plan, 0, 1, 0);
  const std::vector<uint64_t> nodes = testing::OriginalIds(*test.graph, kRater, batch.nodes[0]);
  ASSERT_EQ(batch.edges->sources.size(), validation.size());
  for (size_t i = 0; i < validation.size(); ++i) {
    EXPECT_EQ(nodes[batch.edges->sources[i]], validation.sources[i]);
    EXPECT_EQ(nodes[batch.edges->destinations[i]], validation.destinations[i]);
  }
}

// Returns the drawn edges of a step's batch by original ids.
std::set<Ends> DrawnEdges(const TestGraph& test, const sampler::MiniBatch& batch) {
  const std::vector<uint64_t> nodes = testing::OriginalIds(*test.graph, kRater, batch.nodes[0]);
  std::set<Ends> drawn;
  for (const sampler::Block& block : batch.layers.front().blocks) {
    for (size_t row = 0; row + 1 < block.indptr.size(); ++row) {
      for (uint32_t at = block.indptr[row]; at < block.indptr[row + 1]; ++at) {
        drawn.emplace(nodes[block.indices[at]], nodes[row]);
      }
    }
  }
  return drawn;
}

// Returns the graph with all edges in both directions; an edge and its reverse have the same label.
graph::SourceGraph RatedBothWays() {
  graph::SourceGraph source = RatedGraph();
  graph::EdgeSet& edges = source.edges[0];
  std::vector<int64_t> ratings;
  for (int64_t i = 0; i < static_cast<int64_t>(edges.num_edges()); ++i) {
    ratings.push_back((edges.sources.ValueAsInt(i) + edges.destinations.ValueAsInt(i)) % 7);
  }
  edges.columns["rating"] = Tensor::FromVector(std::move(ratings));
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

TEST(EdgeBatchTest, ExcludesEdgesOfStepAndReversesByPlan) {
  const graph::SourceGraph source = RatedBothWays();
  const TestGraph test = testing::MakeTestGraph(source, 2, 7);
  const auto drawn = [&](bool exclude, std::optional<EdgeTypeId> reverse) {
    return DrawnEdges(test, RatedBatch(test, PlanOfRated(exclude, reverse), 0, 1, 0));
  };
  const std::set<Ends> all = drawn(false, {}), without_own = drawn(true, {}), without_both = drawn(true, kRated);
  const std::vector<Ends> edges = EdgesOfRatedStep(source, 0);
  const std::set<Ends> of_step(edges.begin(), edges.end());
  ASSERT_FALSE(of_step.empty());
  for (const auto& [u, v] : of_step) {
    EXPECT_TRUE(all.contains({u, v}));
    EXPECT_TRUE(all.contains({v, u}));
    EXPECT_FALSE(without_own.contains({u, v}));
    EXPECT_EQ(without_own.contains({v, u}), !of_step.contains({v, u}));
    EXPECT_FALSE(without_both.contains({u, v}));
    EXPECT_FALSE(without_both.contains({v, u}));
  }
  EXPECT_FALSE(without_both.empty());
}

TEST(EdgePlanTest, RefusesMissingLabelUnknownEdgeTypeAndWrongReverse) {
  const auto schema =
      graph::GraphSchema::Make({"user", "item"}, {{"user", "rates", "item"}, {"user", "knows", "user"}});
  ASSERT_TRUE(schema.ok());
  const EdgeTypeId knows = *schema->FindEdgeType("knows"), rates = *schema->FindEdgeType("rates");
  EXPECT_TRUE(sampler::CheckEdgePlan({.edge_type = knows, .label = "x"}, *schema).ok());
  EXPECT_TRUE(sampler::CheckEdgePlan({.edge_type = rates, .label = "x"}, *schema).ok());  // between two node types
  EXPECT_THAT(sampler::CheckEdgePlan({.edge_type = knows, .label = ""}, *schema).message(), HasSubstr("no label"));
  EXPECT_THAT(sampler::CheckEdgePlan({.edge_type = EdgeTypeId(9), .label = "x"}, *schema).message(),
              HasSubstr("does not exist"));
  const sampler::EdgePlan elsewhere{.edge_type = knows, .label = "x", .exclude_batch = true, .exclude_reverse = rates};
  EXPECT_THAT(sampler::CheckEdgePlan(elsewhere, *schema).message(), HasSubstr("does not reverse the node types"));
  // An edge type between two node types is never its own reverse.
  const sampler::EdgePlan itself{.edge_type = rates, .label = "x", .exclude_batch = true, .exclude_reverse = rates};
  EXPECT_THAT(sampler::CheckEdgePlan(itself, *schema).message(), HasSubstr("does not reverse the node types"));
}

}  // namespace
}  // namespace espalier::shard
