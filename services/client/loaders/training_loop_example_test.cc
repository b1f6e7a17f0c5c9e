// A training loop that calls a step of the user, run by two programs over two servers: checks the batches that they
// get. (docs/coming-from-dgl.md shows such a loop with a model, services/examples/graph_sage.)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "services/client/loaders/node_data_loader.h"
#include "services/client/testing/served_graph.h"
#include "services/graph/generators.h"

namespace example {

using namespace espalier;
using namespace espalier::client;

struct Batch {
  sampler::MiniBatch blocks;  // DGL: input_nodes, output_nodes, blocks
  Tensor features;            // of all nodes that the first layer reads
  Tensor labels;              // of the seeds
};
// A step of yours: forward, backward, and the all-reduce with the other ranks. A share may have no seeds.
using TrainStep = std::function<Status(const Batch& batch)>;

Status TrainOn(const DistGraph& graph, const std::string& split, uint32_t epochs, const TrainStep& step) {
  const NodeTypeId product(0);  // a graph of one node type and one relation
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> train_nodes,
                   graph.SplitNodes(product, split, graph::SplitPartName::kTrain));

  NodeLoaderOptions options;
  options.seed_type = product;
  options.batch_size = 1000 * graph.world_size();  // of all ranks together
  options.sampling.layers = {{{10}}, {{25}}};      // by relation; the model's first layer first
  options.sampling.seed = 1;
  const auto collate = [&](sampler::MiniBatch blocks, const Deadline& deadline) -> Result<Batch> {
    const std::vector<GlobalNodeId>& nodes = blocks.nodes[product.value];  // the seeds come first
    const std::vector<GlobalNodeId> seeds(nodes.begin(), nodes.begin() + blocks.num_seeds);
    ASSIGN_OR_RETURN(Tensor features, graph.GatherNodeRows(product, "node-feat", nodes, deadline));
    ASSIGN_OR_RETURN(Tensor labels, graph.GatherNodeRows(product, "node-label", seeds, deadline));
    return Batch{std::move(blocks), std::move(features), std::move(labels)};
  };
  ASSIGN_OR_RETURN(const auto loader, NodeDataLoader<Batch>::Make(graph, train_nodes, options, collate));

  for (uint32_t epoch = 0; epoch < epochs; ++epoch) {
    RETURN_IF_ERROR(loader->StartEpoch(epoch));
    for (;;) {
      ASSIGN_OR_RETURN(const std::optional<Batch> batch, loader->Next());
      if (!batch) break;  // the epoch's last, on every rank after the same number
      RETURN_IF_ERROR(step(*batch));
    }
  }
  return Status();
}

// What one rank has trained on.
struct TrainedSteps {
  std::vector<uint64_t> steps_of_epoch;
  std::vector<std::multiset<int64_t>> seeds_of_epoch;  // original ids
  Status status;
};

class TrainingLoopExampleTest : public ::testing::Test {
 protected:
  static graph::SourceGraph Source() {
    graph::PowerLawOptions options;
    options.num_nodes = 9000;
    options.num_edges = 60'000;
    options.community_size = 900;
    options.num_classes = 3;
    options.features.width = 4;
    options.split = {.train = 0.5, .validation = 0.1, .test = 0.1};
    options.seed = 8;
    Result<graph::SourceGraph> graph = graph::GeneratePowerLawGraph(options, 1);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  }

  // Runs one program, configured by environment variables like a rank of a job.
  TrainedSteps Train(uint32_t rank, uint32_t world_size, uint32_t epochs) const {
    TrainedSteps trained;
    const auto context = Initialize({{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]},
                                     {"ESPALIER_RANK", std::to_string(rank)},
                                     {"ESPALIER_WORLD_SIZE", std::to_string(world_size)}});
    ESPALIER_CHECK(context.ok()) << context.status().ToString();
    const auto graph = DistGraph::Open(*context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    trained.status = TrainOn(**graph, graph::kRandomSplit, epochs,
                             [&](const Batch& batch) { return CheckAndRecord(batch, **graph, trained); });
    return trained;
  }

  // Checks that the rows of a batch are those of its nodes in the user's files, and records the seeds.
  Status CheckAndRecord(const Batch& batch, const DistGraph& graph, TrainedSteps& trained) const {
    if (trained.steps_of_epoch.size() == batch.blocks.epoch) {
      trained.steps_of_epoch.push_back(0);
      trained.seeds_of_epoch.emplace_back();
    }
    ++trained.steps_of_epoch.back();
    const std::vector<GlobalNodeId>& nodes = batch.blocks.nodes[0];
    ASSIGN_OR_RETURN(const Tensor originals, graph.GatherNodeRows(NodeTypeId(0), sampler::kOriginalIdColumn, nodes));
    const Tensor& features = source_.nodes[0].columns.at("node-feat");
    const Tensor& labels = source_.nodes[0].columns.at("node-label");
    EXPECT_EQ(batch.features.num_rows(), static_cast<int64_t>(nodes.size()));
    EXPECT_EQ(batch.labels.num_rows(), static_cast<int64_t>(batch.blocks.num_seeds));
    for (int64_t row = 0; row < batch.features.num_rows(); ++row) {
      const int64_t original = originals.ValueAsInt(row);
      for (int64_t column = 0; column < 4; ++column) {
        EXPECT_EQ(batch.features.ValueAsDouble(4 * row + column), features.ValueAsDouble(4 * original + column));
      }
      if (row >= batch.labels.num_rows()) continue;
      EXPECT_EQ(batch.labels.ValueAsInt(row), labels.ValueAsInt(original));
      trained.seeds_of_epoch.back().insert(original);
    }
    return Status();
  }

  const graph::SourceGraph source_ = Source();
  const client::testing::ServedGraph served_{source_, 2};
};

TEST_F(TrainingLoopExampleTest, RanksTakeSameStepsAndVisitEverySeedOnce) {
  constexpr uint32_t kRanks = 2, kEpochs = 2;
  std::vector<TrainedSteps> trained(kRanks);
  {
    std::vector<std::jthread> programs;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      programs.emplace_back([&, rank] { trained[rank] = Train(rank, kRanks, kEpochs); });
    }
  }
  const std::vector<uint64_t>& train = source_.splits.at(graph::kRandomSplit).at(0).train;
  ASSERT_GT(train.size(), 4000u);  // three steps of 2000
  for (const TrainedSteps& rank : trained) {
    EXPECT_TRUE(rank.status.ok()) << rank.status.ToString();
    EXPECT_EQ(rank.steps_of_epoch, std::vector<uint64_t>(kEpochs, (train.size() + 1999) / 2000));
  }
  for (uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    std::multiset<int64_t> together = trained[0].seeds_of_epoch.at(epoch);
    together.merge(trained[1].seeds_of_epoch.at(epoch));
    EXPECT_EQ(together, std::multiset<int64_t>(train.begin(), train.end()));
  }
}

TEST_F(TrainingLoopExampleTest, AnErrorOfAStepEndsTheLoop) {
  const auto context = Initialize({{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]}});
  ASSERT_TRUE(context.ok());
  const auto graph = DistGraph::Open(*context);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  int steps = 0;
  const Status status = TrainOn(**graph, graph::kRandomSplit, 3, [&](const Batch&) {
    return ++steps == 2 ? Internal("the loss is not a number") : Status();
  });
  EXPECT_EQ(status, Internal("the loss is not a number"));
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(TrainOn(**graph, "none", 1, [](const Batch&) { return Status(); }).code(), StatusCode::kNotFound);
}

}  // namespace example
