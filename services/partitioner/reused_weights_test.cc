// The manifest of a partitioning provides the properties of edge column values to jobs that reuse it.
#include <gtest/gtest.h>

#include "services/format/source/npy_folder.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

TEST(ReusedWeightsTest, ReusedPartitioningReportsInvalidWeights) {
  const storage::TemporaryFolder root;
  graph::SourceGraph source = partition::testing::TypedGraph(20, /*seed=*/5);
  const uint64_t num_edges = source.edges[0].num_edges();
  ASSERT_GT(num_edges, 2u);
  std::vector<float> weights(num_edges, 1);
  source.edges[0].columns["good"] = Tensor::FromVector(weights);
  weights[2] = -0.5F;
  source.edges[0].columns["bad"] = Tensor::FromVector(weights);
  source.edges[0].columns["none"] = Tensor::Zeros(DType::kI32, {static_cast<int64_t>(num_edges)});
  ASSERT_EQ(format::WriteNpyFolder(source, root.path() + "/source"), Status());

  job::Graph graph;
  graph.source = {.uri = root.path() + "/source", .format = job::GraphFormat::kNpy};
  graph.partitions.algorithm = job::PartitionAlgorithm::kRandom;
  graph.partitions.count = 2;
  GraphMetadata seen;
  PartitionPipelineOptions options;
  options.check_names = [&](const GraphMetadata& metadata) {
    seen = metadata;
    return Status();
  };
  for (const bool is_reused : {false, true}) {
    const auto outcome = PartitionGraph(graph, /*seed=*/1, root.path() + "/partitions", nullptr, options);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    ASSERT_EQ(outcome->reused, is_reused);
  }
  const auto& columns = seen.edge_columns[0];
  EXPECT_EQ(columns.at("good").bad_weight, "");
  EXPECT_EQ(columns.at("bad").bad_weight, "row 2 is -0.5");
  EXPECT_FALSE(columns.at("good").is_all_zero || columns.at("bad").is_all_zero);
  EXPECT_TRUE(columns.at("none").is_all_zero);
}

}  // namespace
}  // namespace espalier::partitioner
