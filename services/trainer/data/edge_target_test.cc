// Edge targets of a split whose labels together do not fit into one message.
#include "services/trainer/data/edge_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/shard/testing/test_graph.h"

namespace espalier::trainer {
namespace {

constexpr char kWideSplit[] = "wide";
constexpr size_t kSplitEdges = 40;
constexpr int64_t kWideLabel = 1 << 18;  // values: 1 MiB

// Returns the first value of an edge's label, a function of its endpoints, so that parallel edges have the same label.
// With one partition, global ids are original ids.
float ComputeFirstNumber(GlobalNodeId source, GlobalNodeId destination) {
  return static_cast<float>(1000 * source.value + destination.value);
}

// Returns a graph whose edges are all training edges with labels of 1 MiB each.
graph::SourceGraph GraphOfWideLabels() {
  graph::PowerLawOptions options;
  options.num_nodes = 100;
  options.num_edges = kSplitEdges;
  options.within_community = 0;
  options.seed = 4;
  graph::SourceGraph source = *graph::GeneratePowerLawGraph(options, 1);
  graph::EdgeSet& edges = source.edges[0];
  Tensor labels = Tensor::Zeros(DType::kF32, {edges.sources.num_rows(), kWideLabel});
  graph::EdgePairs& train = source.edge_splits[kWideSplit][0].train;
  for (int64_t i = 0; i < edges.sources.num_rows(); ++i) {
    train.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(i)));
    train.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(i)));
    const float first_number = ComputeFirstNumber(GlobalNodeId(train.sources[static_cast<size_t>(i)]),
                                                  GlobalNodeId(train.destinations[static_cast<size_t>(i)]));
    std::memcpy(labels.mutable_bytes() + static_cast<size_t>(i) * labels.row_bytes(), &first_number, sizeof(float));
  }
  edges.columns = {{"wide", std::move(labels)}};
  return source;
}

// Forwards to another source and records the number of edges and the largest response.
class WatchedSeeds final : public sampler::SeedSource {
 public:
  explicit WatchedSeeds(sampler::SeedSource& seeds) : seeds_(seeds) {}
  size_t max_row_bytes() const { return max_row_bytes_; }
  size_t num_edges() const { return num_edges_; }  // edges read, without reads of one edge

  Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) override {
    return seeds_.Count(type, split, part);
  }
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override {
    return seeds_.CountOfEdges(type, split, part);
  }
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) override {
    Result<sampler::GlobalBatch> batch = seeds_.SeedsOfStep(query, deadline);
    if (batch.ok()) max_row_bytes_ = std::max(max_row_bytes_, batch->rows.size_bytes());
    if (batch.ok() && query.batch_size > 1) num_edges_ += batch->seeds.size();
    return batch;
  }
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override {
    return seeds_.ToGlobalIds(type, nodes, deadline);
  }

 private:
  sampler::SeedSource& seeds_;
  size_t max_row_bytes_ = 0, num_edges_ = 0;
};

TEST(EdgeTargetTest, ReadsWideLabelsInParts) {
  const graph::SourceGraph source = GraphOfWideLabels();
  const auto num_edges = static_cast<size_t>(source.edges[0].sources.num_rows());
  ASSERT_GT(num_edges, 16u);
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(source, 1, 11);
  WatchedSeeds seeds(*graph.graph);
  job::Training training;
  training.task.type = job::TaskType::kEdgeRegression;
  training.task.split = kWideSplit;
  training.task.label = "wide";
  collective::SelfCollective alone;
  const GraphAccess access{*graph.graph, *graph.graph, seeds, *graph.graph, nullptr};

  const Timeouts timeouts{std::chrono::seconds(60), std::chrono::seconds(60)};
  std::vector<std::string> warnings;
  const Result<EdgeTarget> target = MakeEdgeTarget(training, access, std::nullopt, alone, timeouts, &warnings);

  ASSERT_TRUE(target.ok()) << target.status().ToString();
  EXPECT_EQ(target->num_outputs, kWideLabel);
  EXPECT_EQ(seeds.num_edges(), num_edges);
  EXPECT_LE(seeds.max_row_bytes(), size_t{16} << 20);

  // As an evaluation reads them; the last chunk is smaller.
  std::vector<GlobalNodeId> sources;
  for (uint64_t chunk = 0; chunk * 30 < num_edges; ++chunk) {
    const auto edges = ReadLabeledEdgeChunk(*target, access, graph::SplitPartName::kTrain, chunk, 30, timeouts);
    ASSERT_TRUE(edges.ok()) << edges.status().ToString();
    ASSERT_EQ(edges->labels.size(0), static_cast<int64_t>(edges->sources.size()));
    for (size_t i = 0; i < edges->sources.size(); ++i) {
      EXPECT_EQ(edges->labels[static_cast<int64_t>(i)][0].item<float>(),
                ComputeFirstNumber(edges->sources[i], edges->destinations[i]));
    }
    sources.insert(sources.end(), edges->sources.begin(), edges->sources.end());
  }
  EXPECT_LE(seeds.max_row_bytes(), size_t{16} << 20);
  const auto all =
      ReadEdgeChunk(*target, access, graph::SplitPartName::kTrain, 0, num_edges, false, timeouts.ForData());
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_EQ(sources, all->sources);
}

}  // namespace
}  // namespace espalier::trainer
