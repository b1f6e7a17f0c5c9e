#include "services/trainer/evaluation/full_inference.h"

#include <gtest/gtest.h>

#include <thread>

#include "services/base/testing/soon.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/shard/testing/test_graph.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/evaluation/evaluation.h"
#include "services/trainer/evaluation/forward_pass.h"
#include "services/trainer/evaluation/node_evaluation.h"

namespace espalier::trainer {
namespace {

using graph::SplitPartName;
using shard::testing::MakeTestGraph;
using shard::testing::TestGraph;

graph::SourceGraph TypedGraph() {
  graph::TypedOptions options;
  options.num_papers = 300;
  options.num_authors = 100;
  options.features.width = 8;
  options.seed = 3;
  return *graph::GenerateTypedGraph(options, 1);
}

graph::SourceGraph OneTypeGraph() {
  graph::PowerLawOptions options;
  options.num_nodes = 300;
  options.num_edges = 2000;
  options.community_size = 100;
  options.features.width = 8;
  options.seed = 3;
  return *graph::GeneratePowerLawGraph(options, 1);
}

job::Training MakeTraining(const graph::SourceGraph& source, job::ModelType type, int num_layers) {
  job::Training training;
  const bool typed = source.schema.num_node_types() > 1;
  training.task.node_type = typed ? "paper" : "";
  training.task.label = graph::kLabelColumn;
  training.task.split = graph::kRandomSplit;
  for (const std::string& name : source.schema.node_types()) {
    const NodeTypeId node_type = *source.schema.FindNodeType(name);
    if (source.nodes_of(node_type).columns.contains(graph::kFeatureColumn)) {
      training.inputs.push_back({name, {graph::kFeatureColumn}});
    }
  }
  training.model.type = type;
  training.model.hidden_size = 8;
  training.sampling.layers.assign(static_cast<size_t>(num_layers), {3, {}});
  return training;
}

// Everything that inference needs, for one partitioning of a graph.
struct Bench {
  TestGraph opened;
  GraphAccess graph;
  NodeData data;
  sampler::SamplingSpec spec;
  std::shared_ptr<Model> model;
};

Bench MakeBench(const graph::SourceGraph& source, uint32_t partitions, job::ModelType type, int num_layers) {
  TestGraph opened = MakeTestGraph(source, partitions, 7);
  sampler::PartitionedGraph& graph = *opened.graph;
  const job::Training training = MakeTraining(source, type, num_layers);
  NodeData data = *NodeData::Make(training, source.schema, graph);
  collective::SelfCollective self;
  EXPECT_TRUE(data.CountOutputs(training.task.split, graph, self, std::chrono::seconds(60)).ok());
  sampler::SamplingSpec spec = *MakeSamplingSpec(training.sampling, source.schema, 1);
  ModelOptions options{.model = training.model,
                       .num_layers = num_layers,
                       .schema = source.schema,
                       .input_widths = data.input_widths(),
                       .num_outputs = data.num_outputs(),
                       .relations = ListRelations(spec),
                       .seed_type = data.seed_type(),
                       .seed = 1};
  std::shared_ptr<Model> model = *MakeModel(options);
  return {std::move(opened), graph, std::move(data), std::move(spec), std::move(model)};
}

// Returns the outputs, f32 [nodes of the seed type, C], in the order of original ids.
torch::Tensor LayerwiseOutputs(Bench& bench, collective::Collective& collective, uint64_t chunk_nodes,
                               std::map<uint64_t, torch::Tensor>& chunks, std::mutex& mutex) {
  auto inference = FullInference::Make(bench.graph, bench.data, bench.spec, collective,
                                       {chunk_nodes, {std::chrono::seconds(60), std::chrono::seconds(60)}});
  EXPECT_TRUE(inference.ok());
  EXPECT_TRUE(inference->ComputeHidden(*bench.model, "test").ok());
  EXPECT_TRUE(inference
                  ->ForAllNodes(*bench.model,
                                [&](uint64_t chunk, auto, const torch::Tensor& outputs) {
                                  const std::lock_guard lock(mutex);
                                  chunks[chunk] = outputs.clone();
                                  return Status();
                                })
                  .ok());
  EXPECT_TRUE(inference->DropHidden().ok());
  std::vector<torch::Tensor> in_order;
  for (const auto& [chunk, outputs] : chunks) in_order.push_back(outputs);
  return torch::cat(in_order, 0);
}

torch::Tensor LayerwiseOutputs(Bench& bench, uint64_t chunk_nodes) {
  collective::SelfCollective self;
  std::map<uint64_t, torch::Tensor> chunks;
  std::mutex mutex;
  return LayerwiseOutputs(bench, self, chunk_nodes, chunks, mutex);
}

// Returns the same outputs, computed as one mini-batch of all nodes with all in-edges in every hop.
torch::Tensor OneBatchOutputs(Bench& bench) {
  std::vector<OriginalNodeId> originals;
  const uint64_t count = bench.graph.neighbors.book().num_nodes(bench.data.seed_type());
  for (uint64_t id = 0; id < count; ++id) originals.emplace_back(id);
  const auto seeds = *bench.graph.seeds.ToGlobalIds(bench.data.seed_type(), originals, Soon());
  sampler::SamplingSpec full = bench.spec;
  for (auto& layer : full.layers) layer.fanouts.assign(layer.fanouts.size(), sampler::kFullNeighborhood);
  auto batch = sampler::SampleMiniBatch(bench.graph.neighbors, full, 0, 0, bench.data.seed_type(), seeds,
                                        static_cast<uint32_t>(count), Soon());
  EXPECT_TRUE(batch.ok()) << batch.status().ToString();
  auto tensors = FetchBatch(*std::move(batch), bench.data, Soon());
  EXPECT_TRUE(tensors.ok()) << tensors.status().ToString();
  const torch::NoGradGuard no_gradients;
  return ForwardPass(*bench.model, *tensors, LayerRun());
}

TEST(FullInferenceTest, MatchesOneLargeMiniBatch) {
  for (const int num_layers : {1, 2, 3}) {
    Bench sage = MakeBench(OneTypeGraph(), 2, job::ModelType::kGraphSage, num_layers);
    EXPECT_TRUE(torch::allclose(LayerwiseOutputs(sage, 64), OneBatchOutputs(sage), 1e-4, 1e-5)) << num_layers;
    Bench rgcn = MakeBench(TypedGraph(), 3, job::ModelType::kRgcn, num_layers);
    EXPECT_TRUE(torch::allclose(LayerwiseOutputs(rgcn, 64), OneBatchOutputs(rgcn), 1e-4, 1e-5)) << num_layers;
  }
}

TEST(FullInferenceTest, GivesTheSameBitsForAnyPartitioningAndNumberOfTrainers) {
  const graph::SourceGraph source = TypedGraph();
  Bench whole = MakeBench(source, 1, job::ModelType::kRgcn, 2);
  const torch::Tensor expected = LayerwiseOutputs(whole, 64);
  Bench cut = MakeBench(source, 4, job::ModelType::kRgcn, 2);
  EXPECT_TRUE(torch::equal(LayerwiseOutputs(cut, 64), expected));

  auto ranks = collective::MakeInProcessGroup(3);
  std::map<uint64_t, torch::Tensor> chunks;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (auto& rank : ranks) threads.emplace_back([&] { LayerwiseOutputs(cut, *rank, 64, chunks, mutex); });
  for (std::thread& thread : threads) thread.join();
  uint64_t next = 0;
  std::vector<torch::Tensor> in_order;
  for (const auto& [chunk, outputs] : chunks) {
    EXPECT_EQ(chunk, next++);
    in_order.push_back(outputs);
  }
  EXPECT_TRUE(torch::equal(torch::cat(in_order, 0), expected));
}

TEST(FullInferenceTest, LeavesNoTensorsBehind) {
  Bench bench = MakeBench(OneTypeGraph(), 2, job::ModelType::kGraphSage, 3);
  LayerwiseOutputs(bench, 64);
  for (const char* name : {"test-l0", "test-l1"}) {
    const std::vector<GlobalNodeId> nodes = {GlobalNodeId(0)};
    EXPECT_EQ(bench.graph.rows.GatherRows(NodeTypeId(0), name, nodes, Soon()).status().code(), StatusCode::kNotFound);
  }
}

// A store that fails on one rank. The other ranks must return its error instead of waiting.
class BrokenStore final : public sampler::TensorStore {
 public:
  Status CreateTensor(NodeTypeId, const std::string&, DType, const std::vector<int64_t>&, Deadline) override {
    return Unavailable("server 1 is gone");
  }
  Status WriteRows(NodeTypeId, const std::string&, std::span<const GlobalNodeId>, const Tensor&, Deadline) override {
    return Unavailable("server 1 is gone");
  }
  Status DropTensor(NodeTypeId, const std::string&, Deadline) override { return Status(); }
};

TEST(FullInferenceTest, EndsOnAllRanksWithTheErrorOfOne) {
  Bench bench = MakeBench(OneTypeGraph(), 1, job::ModelType::kGraphSage, 2);
  BrokenStore broken;
  auto ranks = collective::MakeInProcessGroup(2);
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    threads.emplace_back([&] {
      GraphAccess graph = {bench.graph.neighbors, bench.graph.rows, bench.graph.seeds,
                           rank->rank() == Rank(1) ? broken : bench.graph.tensors, nullptr};
      auto inference = FullInference::Make(graph, bench.data, bench.spec, *rank, {});
      ASSERT_TRUE(inference.ok());
      const Status status = inference->ComputeHidden(*bench.model, "test");
      EXPECT_EQ(status, Unavailable("computing layer 0 for all nodes: trainer 1: server 1 is gone"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Returns an evaluator of the nodes of the random split.
Result<std::unique_ptr<Evaluator>> MakeEvaluator(Bench& bench, collective::Collective& self,
                                                 const EvaluationOptions& options) {
  NodeEvaluationOptions measure;
  measure.split = graph::kRandomSplit;
  measure.sampling = bench.spec;
  measure.inference = options.inference;
  ASSIGN_OR_RETURN(auto nodes, NodeEvaluation::Make(bench.graph, bench.data, self, std::move(measure)));
  return Evaluator::Make(bench.graph, bench.data, self, options, std::move(nodes));
}

TEST(EvaluatorTest, CountsRightPredictions) {
  Bench bench = MakeBench(OneTypeGraph(), 2, job::ModelType::kGraphSage, 2);
  collective::SelfCollective self;
  EvaluationOptions options;
  options.sampling = bench.spec;
  options.tensor_prefix = "evaluation";
  options.inference.chunk_nodes = 64;
  auto evaluator = MakeEvaluator(bench, self, options);
  ASSERT_TRUE(evaluator.ok());
  const auto accuracy = (*evaluator)->Evaluate(*bench.model, SplitPartName::kTest);
  ASSERT_TRUE(accuracy.ok()) << accuracy.status().ToString();

  const torch::Tensor outputs = OneBatchOutputs(bench);
  const sampler::SeedQuery query{.node_type = NodeTypeId(0),
                                 .split = graph::kRandomSplit,
                                 .part = SplitPartName::kTest,
                                 .shuffle = false,
                                 .batch_size = 1000};
  const auto test = *bench.graph.seeds.SeedsOfStep(query, Soon());
  const torch::Tensor rows = outputs.index_select(0, *bench.data.OriginalIds(NodeTypeId(0), test.seeds, Soon()));
  const torch::Tensor right = rows.argmax(1).eq(*bench.data.Labels(test.seeds, Soon()));
  EXPECT_DOUBLE_EQ(**accuracy, right.to(torch::kDouble).mean().item<double>());
}

TEST(EvaluatorTest, AFailedPassLeavesNoTensorsBehind) {
  Bench bench = MakeBench(OneTypeGraph(), 2, job::ModelType::kGraphSage, 3);
  collective::SelfCollective self;
  EvaluationOptions options;
  options.sampling = bench.spec;
  options.tensor_prefix = "evaluation";
  options.inference.chunk_nodes = 64;
  const auto read = [&](const char* name) {
    const std::vector<GlobalNodeId> nodes = {GlobalNodeId(0)};
    return bench.graph.rows.GatherRows(NodeTypeId(0), name, nodes, Soon()).status();
  };
  // The pass fails in the first layer, in the second layer (a layer has 25 calls), and in the body.
  for (const int failing_call : {3, 30, 1000}) {
    int calls = 0;
    options.inference.before_chunk = [&calls, failing_call] {
      return ++calls == failing_call ? Cancelled("asked to stop") : Status();
    };
    auto evaluator = MakeEvaluator(bench, self, options);
    ASSERT_TRUE(evaluator.ok());
    const Status status = (*evaluator)->RunPass(*bench.model, PassWork{}, [&] {
      EXPECT_EQ(failing_call, 1000);
      EXPECT_EQ(read("evaluation-pass0-l1"), Status());
      return Cancelled("asked to stop");
    });
    EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
    for (const char* name : {"evaluation-pass0-l0", "evaluation-pass0-l1"}) {
      EXPECT_EQ(read(name).code(), StatusCode::kNotFound) << name << " after call " << failing_call;
    }
  }
}

}  // namespace
}  // namespace espalier::trainer
