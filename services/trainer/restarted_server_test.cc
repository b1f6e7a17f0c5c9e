// A graph server that restarts during a pass over full neighborhoods loses stored activations. All ranks then repeat
// the pass, and the results are those of an undisturbed pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <thread>

#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/evaluation/evaluation.h"
#include "services/trainer/evaluation/node_evaluation.h"
#include "services/trainer/testing/disturbed_store.h"

namespace espalier::trainer {
namespace {

using client::testing::ServedGraph;
using graph::SplitPartName;

constexpr uint64_t kChunkNodes = 128;

job::Training MakeTraining(const graph::SourceGraph& source) {
  job::Training training;
  training.task.label = graph::kLabelColumn;
  training.task.split = graph::kRandomSplit;
  training.inputs.push_back({source.schema.node_types().front(), {graph::kFeatureColumn}});
  training.model.type = job::ModelType::kGraphSage;
  training.model.hidden_size = 8;
  training.sampling.layers.assign(3, {3, {}});
  return training;
}

// Two partitions on two servers, accessed by RPC.
class RestartedServerTest : public ::testing::Test {
 protected:
  RestartedServerTest() : source_(client::testing::SmallGraph()), served_(source_, 2), session_(Connect()) {}

  client::Session Connect() {
    client::SessionOptions options;
    options.addresses = served_.addresses();
    options.access = client::Access::kRpc;
    auto session = client::Connect(options);
    ESPALIER_CHECK(session.ok()) << session.status().ToString();
    return *std::move(session);
  }

  struct Outcome {
    Status status;
    std::optional<double> metric;
    std::map<uint64_t, torch::Tensor> outputs;  // by chunk
    int bodies = 0;                             // runs of the body, over all ranks
  };

  // Runs a pass of `num_ranks` trainers that computes a metric and all outputs. `in_body` runs on rank 0 in between.
  Outcome RunPass(uint32_t num_ranks, sampler::TensorStore& tensors, const std::function<void()>& in_body = {}) {
    sampler::PartitionedGraph& graph = *session_.graph;
    const GraphAccess access = {graph, graph, graph, tensors, nullptr};
    const job::Training training = MakeTraining(source_);
    Outcome outcome;
    std::mutex mutex;
    auto ranks = collective::MakeInProcessGroup(num_ranks);
    std::vector<std::thread> threads;
    for (auto& rank : ranks) {
      threads.emplace_back([&, &collective = *rank] {
        NodeData data = *NodeData::Make(training, source_.schema, graph);
        ASSERT_TRUE(data.CountOutputs(training.task.split, graph, collective, std::chrono::seconds(60)).ok());
        EvaluationOptions options;
        options.sampling = *MakeSamplingSpec(training.sampling, source_.schema, 1);
        options.tensor_prefix = "pass" + std::to_string(num_passes_);
        options.inference = {kChunkNodes, {std::chrono::seconds(60), std::chrono::seconds(90)}};
        const auto model = *MakeModel({.model = training.model,
                                       .num_layers = 3,
                                       .schema = source_.schema,
                                       .input_widths = data.input_widths(),
                                       .num_outputs = data.num_outputs(),
                                       .relations = ListRelations(options.sampling),
                                       .seed_type = data.seed_type(),
                                       .seed = 1});
        NodeEvaluationOptions measure;
        measure.split = training.task.split;
        measure.sampling = options.sampling;
        measure.inference = options.inference;
        auto nodes = *NodeEvaluation::Make(access, data, collective, measure);
        auto evaluator = *Evaluator::Make(access, data, collective, options, std::move(nodes));
        const Status status = evaluator->RunPass(*model, PassWork{}, [&]() -> Status {
          {
            const std::lock_guard lock(mutex);
            ++outcome.bodies;
            outcome.outputs.clear();
          }
          ASSIGN_OR_RETURN(const std::optional<double> metric,
                           evaluator->ComputeMetric(*model, SplitPartName::kValidation));
          if (collective.rank() == Rank(0)) {
            if (in_body) in_body();
            outcome.metric = metric;
          }
          return evaluator->inference().ForAllNodes(*model, [&](uint64_t chunk, auto, const torch::Tensor& outputs) {
            const std::lock_guard lock(mutex);
            outcome.outputs[chunk] = outputs.clone();
            return Status();
          });
        });
        const std::lock_guard lock(mutex);
        outcome.status = status;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ++num_passes_;
    return outcome;
  }

  void ExpectSame(const Outcome& outcome, const Outcome& expected) {
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    EXPECT_EQ(outcome.metric, expected.metric);
    ASSERT_EQ(outcome.outputs.size(), expected.outputs.size());
    for (const auto& [chunk, outputs] : expected.outputs) EXPECT_TRUE(torch::equal(outcome.outputs.at(chunk), outputs));
  }

  void Restart(uint32_t partition) {
    ++num_restarts_;
    served_.Restart(partition);
  }

  const graph::SourceGraph source_;
  ServedGraph served_;
  client::Session session_;
  int num_passes_ = 0;
  int num_restarts_ = 0;
};

TEST_F(RestartedServerTest, RepeatsPassThatLostActivations) {
  const Outcome expected = RunPass(1, *session_.graph);
  ASSERT_TRUE(expected.status.ok()) << expected.status.ToString();
  ASSERT_TRUE(expected.metric.has_value());
  ASSERT_GT(expected.outputs.size(), 8u);
  const int writes_per_layer = static_cast<int>(expected.outputs.size());
  for (const uint32_t num_ranks : {1u, 2u}) {
    // The first, second and last write of a layer, and the first write of the next layer.
    for (const int nth_write : {1, 2, writes_per_layer, writes_per_layer + 1}) {
      num_restarts_ = 0;
      DisturbedStore tensors(*session_.graph, nth_write, [this] { Restart(1); });
      const Outcome outcome = RunPass(num_ranks, tensors);
      ExpectSame(outcome, expected);
      EXPECT_EQ(num_restarts_, 1);
    }
  }
}

TEST_F(RestartedServerTest, RecomputesLostChunks) {
  const Outcome expected = RunPass(1, *session_.graph);
  for (const int num_ranks : {1, 2}) {
    num_restarts_ = 0;
    const Outcome outcome = RunPass(static_cast<uint32_t>(num_ranks), *session_.graph, [this] {
      if (num_restarts_ == 0) Restart(0);
    });
    ExpectSame(outcome, expected);
    EXPECT_EQ(outcome.bodies, 2 * num_ranks);
  }
}

TEST_F(RestartedServerTest, FailsIfEveryPassIsDisturbed) {
  const Outcome outcome = RunPass(1, *session_.graph, [this] { Restart(0); });
  EXPECT_EQ(outcome.status.code(), StatusCode::kUnavailable) << outcome.status.ToString();
  EXPECT_THAT(outcome.status.message(), ::testing::HasSubstr("given up after 5 passes"));
  EXPECT_EQ(num_restarts_, 5);
}

// Servers that were not restarted must not keep tensors of failed passes.
TEST_F(RestartedServerTest, FailedPassLeavesNoTensors) {
  DisturbedStore tensors(*session_.graph, 15, [this] { Restart(1); });
  ASSERT_TRUE(RunPass(1, tensors).status.ok());
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(0)};
  for (const char* name : {"pass0-pass0-l0", "pass0-pass0-l1", "pass0-pass1-l0", "pass0-pass1-l1"}) {
    const auto rows = session_.graph->GatherRows(NodeTypeId(0), name, nodes, Deadline::After(std::chrono::seconds(60)));
    EXPECT_EQ(rows.status().code(), StatusCode::kNotFound) << name;
  }
}

}  // namespace
}  // namespace espalier::trainer
