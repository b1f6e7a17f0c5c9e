#include "services/partitioner/mapping_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "services/format/source/npy_folder.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/storage/open_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;

// Edge IDs may be large, for example if they are hashes.
TEST(MappingExportTest, RefusesTooLargeOriginalIds) {
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

// If writing fails, for example because the disk is full, no file is replaced: mappings of two different partitionings
// must not be mixed.
TEST(MappingExportTest, FailureKeepsEarlierExport) {
  const storage::TemporaryFolder folder;
  const graph::SourceGraph source = partition::testing::TypedGraph(20, /*seed=*/5);
  ASSERT_EQ(format::WriteNpyFolder(source, folder.path() + "/source"), Status());
  job::Graph graph;
  graph.source = {.uri = folder.path() + "/source", .format = job::GraphFormat::kNpy};
  graph.partitions.algorithm = job::PartitionAlgorithm::kRandom;
  graph.partitions.count = 2;
  const std::string directory = folder.path() + "/mappings";
  const auto export_of = [&](uint64_t seed) -> Status {
    ASSIGN_OR_RETURN(const PartitionOutcome outcome,
                     PartitionGraph(graph, seed, folder.path() + "/partitions", nullptr, {}));
    const storage::StoreLocation at = *storage::OpenStore(outcome.uri);
    return ExportMappings(*at.store, at.prefix, outcome.manifest, {}, directory);
  };
  const auto contents = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
  };
  ASSERT_EQ(export_of(1), Status());
  const auto earlier = contents();
  const std::string in_the_way =
      directory + "/.partial-" + std::to_string(getpid()) + "-" + std::to_string(earlier.size() - 1);
  std::filesystem::create_directory(in_the_way);
  EXPECT_FALSE(export_of(2).ok());
  std::filesystem::remove(in_the_way);
  EXPECT_EQ(contents(), earlier);
  ASSERT_EQ(export_of(2), Status());
  EXPECT_EQ(contents().size(), earlier.size());
  EXPECT_NE(contents(), earlier);
}

}  // namespace
}  // namespace espalier::partitioner
