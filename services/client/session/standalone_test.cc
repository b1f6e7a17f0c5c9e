// Standalone mode, compared with servers of the same partitions: all queries give equal results.
#include "services/client/session/standalone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/client/loaders/node_data_loader.h"
#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/served_graph.h"
#include "services/client/testing/written_partitions.h"
#include "services/graph/generators.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;

constexpr NodeTypeId kPaper(1);  // 0: author

std::vector<std::byte> ToBytes(const Tensor& tensor) { return {tensor.byte_span().begin(), tensor.byte_span().end()}; }

class StandaloneTest : public ::testing::Test {
 protected:
  std::unique_ptr<DistGraph> Alone() const { return Open({{"ESPALIER_PARTITIONS", uri_}}); }
  std::unique_ptr<DistGraph> Served() const {
    return Open({{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]}});
  }
  static std::unique_ptr<DistGraph> Open(const Environment& environment) {
    const auto context = Initialize(environment);
    ESPALIER_CHECK(context.ok()) << context.status().ToString();
    auto graph = DistGraph::Open(*context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  }
  static std::vector<GlobalNodeId> Papers(const DistGraph& graph) {
    std::vector<GlobalNodeId> nodes;
    for (uint64_t node = 0; node < graph.num_nodes(kPaper); ++node) nodes.emplace_back(node);
    return nodes;
  }

  const testing::TemporaryFolder folder_;
  const testing::ServedGraph served_{testing::SmallTypedGraph(), 2};
  const std::string uri_ =
      testing::WritePartitions(testing::SmallTypedGraph(), 2, folder_.path() + "/parts", testing::kPartitionKey);
};

TEST_F(StandaloneTest, DescribesSameGraph) {
  const auto alone = Alone(), served = Served();
  EXPECT_EQ(alone->book(), served->book());
  ASSERT_EQ(alone->node_columns().size(), served->node_columns().size());
  for (size_t i = 0; i < alone->node_columns().size(); ++i) {
    EXPECT_EQ(alone->node_columns()[i].name, served->node_columns()[i].name);
    EXPECT_EQ(alone->node_columns()[i].dtype, served->node_columns()[i].dtype);
  }
  EXPECT_FALSE(alone->edge_columns().empty());
  EXPECT_EQ(alone->edge_columns(), served->edge_columns());
}

TEST_F(StandaloneTest, RowsSplitsAndIdsAreTheSame) {
  const auto alone = Alone(), served = Served();
  for (const std::string column : {"node-feat", sampler::kOriginalIdColumn}) {
    const auto a = alone->GatherNodeRows(kPaper, column, Papers(*alone)),
               b = served->GatherNodeRows(kPaper, column, Papers(*served));
    ASSERT_TRUE(a.ok() && b.ok()) << a.status().ToString() << b.status().ToString();
    EXPECT_EQ(ToBytes(*a), ToBytes(*b)) << column;
  }
  EXPECT_EQ(*alone->SplitNodes(kPaper, graph::kRandomSplit, graph::SplitPartName::kTrain),
            *served->SplitNodes(kPaper, graph::kRandomSplit, graph::SplitPartName::kTrain));
  const EdgeTypeId rated(static_cast<uint16_t>(alone->schema().num_edge_types() - 1));
  const std::vector<GlobalEdgeId> edges = {GlobalEdgeId(alone->num_edges(rated) - 1), GlobalEdgeId(2)};
  EXPECT_EQ(ToBytes(*alone->GatherEdgeRows(rated, "rating", edges)),
            ToBytes(*served->GatherEdgeRows(rated, "rating", edges)));
  const std::vector<OriginalNodeId> originals = {OriginalNodeId(3), OriginalNodeId(0)};
  EXPECT_EQ(*alone->ToGlobalIds(kPaper, originals), *served->ToGlobalIds(kPaper, originals));
}

TEST_F(StandaloneTest, DrawsTheSame) {
  const auto alone = Alone(), served = Served();
  Fanouts fanouts;
  for (uint16_t type = 0; type < alone->schema().num_edge_types(); ++type) fanouts[EdgeTypeId(type)] = 3;
  DrawOptions draws;
  draws.seed = 5;
  draws.want_edge_ids = true;
  const auto a = alone->SampleNeighbors({{kPaper, Papers(*alone)}}, fanouts, draws);
  const auto b = served->SampleNeighbors({{kPaper, Papers(*served)}}, fanouts, draws);
  ASSERT_TRUE(a.ok() && b.ok()) << a.status().ToString() << b.status().ToString();
  ASSERT_EQ(a->relations.size(), b->relations.size());
  for (size_t r = 0; r < a->relations.size(); ++r) {
    EXPECT_EQ(a->relations[r].sources, b->relations[r].sources);
    EXPECT_EQ(a->relations[r].edge_ids, b->relations[r].edge_ids);
  }
}

TEST_F(StandaloneTest, LoadersMakeTheSameBatches) {
  const auto alone = Alone(), served = Served();
  NodeLoaderOptions options{.seed_type = kPaper, .batch_size = 64};
  options.sampling.layers = {{std::vector<int32_t>(alone->schema().num_edge_types(), 4)}};
  options.sampling.seed = 2;
  const auto batches = [&](const DistGraph& graph) {
    std::vector<std::vector<std::vector<GlobalNodeId>>> nodes;
    auto loader = DistNodeDataLoader::Make(
        graph, Papers(graph), options,
        [](sampler::MiniBatch batch, const Deadline&) -> Result<sampler::MiniBatch> { return batch; });
    ESPALIER_CHECK(loader.ok()) << loader.status().ToString();
    EXPECT_TRUE((*loader)->StartEpoch(1).ok());
    for (;;) {
      const auto batch = (*loader)->Next();
      EXPECT_TRUE(batch.ok()) << batch.status().ToString();
      if (!batch.ok() || !batch->has_value()) return nodes;
      nodes.push_back((**batch).nodes);
    }
  };
  const auto made = batches(*alone);
  EXPECT_GT(made.size(), 2u);
  EXPECT_EQ(made, batches(*served));
}

TEST_F(StandaloneTest, TensorsBelongToProcess) {
  const auto alone = Alone();
  auto visits = DistTensor::Create(*alone, {.rows = RowSpace::Nodes(kPaper), .dtype = DType::kI64, .name = "visits"});
  ASSERT_TRUE(visits.ok()) << visits.status().ToString();
  const std::vector<GlobalRowId> rows = ToRowIds(Papers(*alone));
  ASSERT_TRUE(visits->AddRows(rows, Tensor::FromVector(std::vector<int64_t>(rows.size(), 2))).ok());
  EXPECT_EQ(visits->Sum()->ValueAsInt(0), 2 * static_cast<int64_t>(rows.size()));
  ASSERT_TRUE(visits->AttachAs("visits").ok());
  EXPECT_EQ(alone->GatherNodeRows(kPaper, "visits", std::vector{GlobalNodeId(1)})->ValueAsInt(0), 2);
  EXPECT_EQ(DistTensor::Open(*Alone(), RowSpace::Nodes(kPaper), "visits").status().code(), StatusCode::kNotFound);
}

// Original edge ids are in files that no other query reads.
TEST_F(StandaloneTest, RandomRowsOfEdgesAreTheSame) {
  const auto alone = Alone(), served = Served();
  const EdgeTypeId rated(static_cast<uint16_t>(alone->schema().num_edge_types() - 1));
  const auto rows_of = [&](const DistGraph& graph) {
    const auto tensor = DistTensor::Create(graph, {.rows = RowSpace::Edges(rated),
                                                   .row_shape = {3},
                                                   .name = "random",
                                                   .initializer = Initializer::Normal(0, 1, 5)});
    ESPALIER_CHECK(tensor.ok()) << tensor.status().ToString();
    std::vector<GlobalRowId> rows;
    for (uint64_t row = 0; row < tensor->num_rows(); ++row) rows.emplace_back(row);
    const auto values = tensor->ReadRows(rows);
    ESPALIER_CHECK(values.ok()) << values.status().ToString();
    return ToBytes(*values);
  };
  EXPECT_EQ(rows_of(*alone), rows_of(*served));
}

TEST_F(StandaloneTest, ReportsMismatch) {
  SessionOptions options;
  options.standalone.partitions_uri = uri_;
  options.partition_key = std::string(64, 'b');
  EXPECT_EQ(Connect(options).status().code(), StatusCode::kFailedPrecondition);
  options.partition_key = testing::kPartitionKey;
  EXPECT_TRUE(Connect(options).ok());
  options.access = Access::kRpc;
  EXPECT_THAT(Connect(options).status().message(), HasSubstr("access rpc needs graph servers"));
  options.access = Access::kAuto;
  options.addresses = {"127.0.0.1:1"};
  EXPECT_EQ(Connect(options).status().code(), StatusCode::kInvalidArgument);
  options.addresses.clear();
  options.standalone.partitions_uri = folder_.path() + "/none";
  EXPECT_EQ(Connect(options).status().code(), StatusCode::kNotFound);
}

TEST_F(StandaloneTest, DamagedFilesAreRefused) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    if (entry.path().filename() != "graph.safetensors") continue;
    std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  }
  SessionOptions options;
  options.standalone.partitions_uri = uri_;
  EXPECT_EQ(Connect(options).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace espalier::client
