#include "services/apps/partitioning/mapping_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/apps/partitioning/partition_pipeline.h"
#include "services/format/source/npy_folder.h"
#include "services/partition/testing/small_graphs.h"
#include "services/storage/open_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioning {
namespace {

using ::testing::HasSubstr;

// Ids of edges that somebody made by hashing, say.
TEST(MappingExportTest, RefusesOriginalIdsThatAnArrayHasNoRoomFor) {
  for (const uint64_t hash : {uint64_t{1} << 40, ~uint64_t{0}}) {
    const storage::TemporaryFolder folder;
    graph::SourceGraph source = partition::testing::TypedGraph(20, /*seed=*/5);
    std::vector<uint64_t> ids(static_cast<size_t>(source.edges[0].sources.num_rows()));
    for (uint64_t i = 0; i < ids.size(); ++i) ids[i] = i;
    ids.back() = hash;
    source.edges[0].original_ids = Tensor::FromVector(std::move(ids));
    ASSERT_EQ(format::WriteNpyFolder(source, folder.path() + "/source"), Status());
    job::Graph graph;
    graph.source = {.uri = folder.path() + "/source", .format = job::GraphFormat::kNpy};
    graph.partitions.algorithm = job::PartitionAlgorithm::kRandom;
    graph.partitions.count = 2;
    const auto outcome = PartitionGraph(graph, /*seed=*/1, folder.path() + "/partitions", nullptr, {});
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();

    const storage::StoreLocation at = *storage::OpenStore(outcome->uri);
    const std::string directory = folder.path() + "/mappings";
    const Status status = ExportMappings(*at.store, at.prefix, outcome->manifest, {}, directory);

    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("edge type '" + source.schema.edge_types()[0].Name()));
    EXPECT_THAT(status.message(), HasSubstr("original id " + std::to_string(hash)));
    EXPECT_FALSE(std::filesystem::exists(directory)) << "nothing is half-written";
  }
}

}  // namespace
}  // namespace espalier::partitioning
