// Features in I8 from graph servers and from partitions in this process: the client widens them with their scales.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "services/client/graph/dist_graph.h"
#include "services/client/loaders/feature_cache.h"
#include "services/client/loaders/node_data_loader.h"
#include "services/client/session/describe.h"
#include "services/client/session/initialize.h"
#include "services/client/testing/served_graph.h"
#include "services/client/testing/written_partitions.h"
#include "services/graph/preprocess.h"
#include "services/server/describe_graph.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;

constexpr NodeTypeId kOnlyType(0);

class ClientScalesTest : public ::testing::Test {
 protected:
  static graph::SourceGraph InIntegers(const graph::SourceGraph& source) {
    auto scaled = graph::Preprocess(source, {.features = {.dtype = DType::kI8}}, 2);
    ESPALIER_CHECK(scaled.ok()) << scaled.status().ToString();
    return *std::move(scaled);
  }
  static std::unique_ptr<DistGraph> Open(const Environment& environment) {
    const auto context = Initialize(environment);
    ESPALIER_CHECK(context.ok()) << context.status().ToString();
    auto graph = DistGraph::Open(*context);
    ESPALIER_CHECK(graph.ok()) << graph.status().ToString();
    return *std::move(graph);
  }
  static const sampler::ColumnDescription& Features(const DistGraph& graph) {
    const auto& columns = graph.node_columns();
    const auto found =
        std::find_if(columns.begin(), columns.end(), [](const auto& column) { return column.name == "node-feat"; });
    ESPALIER_CHECK(found != columns.end()) << "node-feat";
    return *found;
  }

  const graph::SourceGraph plain_ = testing::SmallGraph();
  const graph::SourceGraph source_ = InIntegers(plain_);
  const testing::ServedGraph served_{source_, 2};
};

TEST_F(ClientScalesTest, RowsAreWidenedToValuesWithinHalfAScale) {
  const storage::TemporaryFolder folder;
  const std::string uri = testing::WritePartitions(source_, 2, folder.path() + "/parts", testing::kPartitionKey);
  const Environment environments[] = {{{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]}},
                                      {{"ESPALIER_PARTITIONS", uri}}};
  for (const Environment& environment : environments) {
    const auto graph = Open(environment);
    const sampler::ColumnDescription& column = Features(*graph);
    EXPECT_EQ(column.dtype, DType::kI8);
    EXPECT_EQ(column.value_dtype(), DType::kF32);
    EXPECT_EQ(column.scales, source_.nodes[0].scales.at("node-feat"));

    std::vector<GlobalNodeId> nodes;
    for (uint64_t node = 0; node < graph->num_nodes(); ++node) nodes.emplace_back(node);
    const auto rows = graph->GatherNodeRows(kOnlyType, "node-feat", nodes);
    const auto ids = graph->GatherNodeRows(kOnlyType, sampler::kOriginalIdColumn, nodes);
    ASSERT_TRUE(rows.ok() && ids.ok()) << rows.status().ToString() << ids.status().ToString();
    const Tensor& original = plain_.nodes[0].columns.at("node-feat");
    ASSERT_EQ(rows->dtype(), DType::kF32);
    ASSERT_EQ(rows->shape(), original.shape());
    const size_t width = column.scales.size();
    for (size_t row = 0; row < nodes.size(); ++row) {
      const auto id = static_cast<size_t>(ids->ValueAsInt(static_cast<int64_t>(row)));
      for (size_t j = 0; j < width; ++j) {
        const float value = original.values<float>()[id * width + j];
        EXPECT_NEAR(rows->values<float>()[row * width + j], value, 0.500001F * column.scales[j]) << id << ", " << j;
      }
    }
  }
}

TEST_F(ClientScalesTest, RowsInTheCallersMemoryAreWidenedToo) {
  const auto graph = Open({{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]}});
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(5), GlobalNodeId(900), GlobalNodeId(5)};
  const auto rows = graph->GatherNodeRows(kOnlyType, "node-feat", nodes);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  std::vector<std::byte> out(rows->size_bytes());
  ASSERT_EQ(graph->GatherNodeRowsInto(kOnlyType, "node-feat", nodes, out), Status());
  EXPECT_TRUE(std::ranges::equal(out, rows->byte_span()));
  out.resize(out.size() / 4);
  EXPECT_EQ(graph->GatherNodeRowsInto(kOnlyType, "node-feat", nodes, out).message(),
            "memory of 12 bytes for rows of 'node-feat', expected 48 bytes (F32)");
}

TEST_F(ClientScalesTest, FeatureCacheWidensRows) {
  const auto graph = Open({{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]}});
  auto made = FeatureCache::Make(*graph, {.columns = {{kOnlyType, "node-feat"}}, .memory_bytes = uint64_t{8} << 20});
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const std::shared_ptr<FeatureCache> cache = *std::move(made);
  const auto& split = graph->node_splits().front();
  NodeLoaderOptions options{.seed_type = kOnlyType, .batch_size = (split.train + 7) / 8, .feature_cache = cache};
  options.sampling.layers.push_back({{4}});
  // Returns whether the rows of a mini-batch, and of a node outside of it, are those without a cache.
  const auto compare = [&](const sampler::MiniBatch& batch, const Deadline& deadline) -> Result<bool> {
    const std::vector<GlobalNodeId> other = {GlobalNodeId(5)};
    for (const std::vector<GlobalNodeId>& nodes : {batch.nodes[0], other}) {
      ASSIGN_OR_RETURN(const Tensor cached, cache->GatherNodeRows(kOnlyType, "node-feat", nodes, deadline));
      ASSIGN_OR_RETURN(const Tensor plain, graph->GatherNodeRows(kOnlyType, "node-feat", nodes, deadline));
      if (cached.dtype() != DType::kF32 || !std::ranges::equal(cached.byte_span(), plain.byte_span())) return false;
    }
    return true;
  };
  auto loader = NodeDataLoader<bool>::Make(*graph, NodesOfSplit{.split = split.split}, options, compare);
  ASSERT_TRUE(loader.ok()) << loader.status().ToString();
  for (uint32_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE((*loader)->StartEpoch(epoch).ok());
    for (int step = 0; step < 8; ++step) {
      const auto is_equal = (*loader)->Next();
      ASSERT_TRUE(is_equal.ok() && is_equal->has_value()) << is_equal.status().ToString();
      EXPECT_TRUE(**is_equal) << epoch << ", " << step;
    }
  }
  EXPECT_GT(cache->counts().hit_rows, 0u);
}

// The integers are what servers send and what caches of rows hold.
TEST_F(ClientScalesTest, ThePartitionsGiveTheIntegers) {
  const auto graph = Open({{"ESPALIER_SERVERS", served_.addresses()[0] + "," + served_.addresses()[1]}});
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(5)};
  const auto rows = graph->partitions().GatherRows(kOnlyType, "node-feat", nodes, graph->CallDeadline());
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ(rows->dtype(), DType::kI8);
}

TEST_F(ClientScalesTest, ADescriptionWithDamagedScalesIsRefused) {
  graph::v1::DescribeResponse response;
  server::DescribeGraph(served_.local_graph().description(), &response);
  ASSERT_TRUE(ParseDescription(response).ok());
  auto& columns = *response.mutable_columns();
  const auto features =
      std::find_if(columns.begin(), columns.end(), [](const auto& column) { return column.name() == "node-feat"; });
  ASSERT_NE(features, columns.end());
  const graph::v1::Column good = *features;
  features->mutable_scales()->RemoveLast();
  EXPECT_THAT(ParseDescription(response).status().message(),
              HasSubstr("column 'node-feat': 3 scales, expected one for each of the 4 elements of a row"));
  *features = good;
  features->set_scales(1, std::nanf(""));
  EXPECT_THAT(ParseDescription(response).status().message(), HasSubstr("column 'node-feat': scale 1 is "));
  *features = good;
  features->set_dtype(static_cast<uint32_t>(DType::kU8));
  EXPECT_THAT(ParseDescription(response).status().message(), HasSubstr("scales for values of U8, expected I8"));
}

}  // namespace
}  // namespace espalier::client
