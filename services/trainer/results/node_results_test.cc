#include "services/trainer/results/node_results.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "services/collective/forwarding_collective.h"
#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/memory_store.h"
#include "services/trainer/data/sampling_plan.h"

namespace espalier::trainer {
namespace {

struct ReadCounts {
  int since = 0;
  int most = 0;
  int total = 0;
};

// Forwards all reads and counts them.
class CountedRows final : public sampler::RowSource {
 public:
  CountedRows(sampler::RowSource& rows, ReadCounts* reads) : rows_(rows), reads_(reads) {}

  const std::vector<sampler::ColumnDescription>& columns() const override { return rows_.columns(); }
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override {
    ++reads_->total;
    reads_->most = std::max(reads_->most, ++reads_->since);
    return rows_.GatherRows(type, column, nodes, deadline);
  }

 private:
  sampler::RowSource& rows_;
  ReadCounts* const reads_;
};

// A group of one rank that resets the count of reads at each synchronization (Broadcast).
class ReadCountingCollective final : public collective::ForwardingCollective {
 public:
  explicit ReadCountingCollective(ReadCounts* reads)
      : ForwardingCollective(std::make_unique<collective::SelfCollective>()), reads_(reads) {}

  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    reads_->since = 0;
    return ForwardingCollective::Broadcast(bytes, root, deadline);
  }

 private:
  ReadCounts* const reads_;
};

job::Training TrainingToWriteAbout() {
  job::Training training;
  training.task.label = graph::kLabelColumn;
  training.task.split = graph::kRandomSplit;
  training.inputs = {{"", {graph::kFeatureColumn}}};
  training.model.hidden_size = 8;
  training.sampling.layers = {{3, {}}, {3, {}}};
  return training;
}

// However long rank 0 takes in total, the other ranks wait for at most one read at a time.
TEST(NodeResultsTest, RanksSynchronizeAfterEachRead) {
  graph::PowerLawOptions generated;
  generated.num_nodes = 300;
  generated.num_edges = 2000;
  generated.community_size = 100;
  generated.features.width = 8;
  generated.seed = 3;
  const graph::SourceGraph source = *graph::GeneratePowerLawGraph(generated, 1);
  const shard::testing::TestGraph opened = shard::testing::MakeTestGraph(source, 2, 7);
  sampler::PartitionedGraph& graph = *opened.graph;
  ReadCounts reads;
  CountedRows rows(graph, &reads);
  ReadCountingCollective group(&reads);

  const job::Training training = TrainingToWriteAbout();
  NodeData data = *NodeData::Make(training, source.schema, graph);
  ASSERT_TRUE(data.CountOutputs(training.task.split, graph, group, std::chrono::seconds(60)).ok());
  const sampler::SamplingSpec spec = *MakeSamplingSpec(training.sampling, source.schema, 1);
  ModelOptions options;
  options.model = training.model;
  options.num_layers = 2;
  options.schema = source.schema;
  options.input_widths = data.input_widths();
  options.num_outputs = data.num_outputs();
  options.relations = ListRelations(spec);
  options.seed_type = data.seed_type();
  options.seed = 1;
  const std::shared_ptr<Model> model = *MakeModel(options);
  auto inference = FullInference::Make(graph, data, spec, group, {});
  ASSERT_TRUE(inference.ok()) << inference.status().ToString();
  ASSERT_TRUE(inference->ComputeHidden(*model, "hidden").ok());

  storage::MemoryStore store;
  NodeResultsContext context{{graph, rows, graph, graph, nullptr}, data, group, Timeouts(), {}, &store, "whole"};
  NodeResultsRequest request;
  request.embeddings = request.predictions = true;
  const auto whole = ExportNodeResults(context, *model, *inference, request, "whole");
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  EXPECT_EQ(reads.total, 2);

  context.folder = "pieces";
  context.bytes_per_read = 50 * 8 * sizeof(float);  // 50 of 300 rows of embeddings
  reads = ReadCounts();
  const auto pieces = ExportNodeResults(context, *model, *inference, request, "pieces");
  ASSERT_TRUE(pieces.ok()) << pieces.status().ToString();
  EXPECT_GT(reads.total, 6);
  EXPECT_EQ(reads.most, 1);
  ASSERT_EQ(pieces->files.size(), whole->files.size());
  for (size_t i = 0; i < pieces->files.size(); ++i) {
    EXPECT_EQ(*store.Get(pieces->files[i].file.key), *store.Get(whole->files[i].file.key)) << i;
  }
}

}  // namespace
}  // namespace espalier::trainer
