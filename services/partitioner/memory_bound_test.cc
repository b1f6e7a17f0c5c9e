// Checks which graphs and bounds are refused, and the scratch space.
#include "services/partitioner/memory_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/partition/testing/small_graphs.h"

namespace espalier::partitioner {
namespace {

using partition::testing::CommunityGraph;

job::Graph StreamedGraph() {
  job::Graph graph;
  graph.partitions.algorithm = job::PartitionAlgorithm::kStreaming;
  return graph;
}

TEST(CheckOptionsForMemoryLimitTest, RefusesOptionsThatHoldGraphInMemory) {
  EXPECT_TRUE(CheckOptionsForMemoryLimit(StreamedGraph(), false, false).ok());
  job::Graph metis = StreamedGraph();
  metis.partitions.algorithm = job::PartitionAlgorithm::kMetis;
  EXPECT_EQ(CheckOptionsForMemoryLimit(metis, false, false).message(),
            "memory limit: METIS and Multilevel hold the whole graph in memory: use Streaming, Random or External");
  EXPECT_EQ(CheckOptionsForMemoryLimit(StreamedGraph(), false, true).message(),
            "memory limit: not supported with several partitioner processes: use one process, or set no limit");
  const std::string changed =
      "memory limit: preprocessing and held-out edges need the whole graph in memory: remove these options, "
      "or set no limit";
  EXPECT_EQ(CheckOptionsForMemoryLimit(StreamedGraph(), true, false).message(), changed);
  for (const auto& change : std::vector<void (*)(job::Preprocess*)>{
           [](job::Preprocess* preprocess) { preprocess->drop_self_loops = true; },
           [](job::Preprocess* preprocess) { preprocess->add_reverse_edges = true; },
           [](job::Preprocess* preprocess) { preprocess->drop_duplicate_edges = true; },
           [](job::Preprocess* preprocess) { preprocess->normalize_features = job::RowNormalization::kRow; },
           [](job::Preprocess* preprocess) { preprocess->feature_dtype = job::FeatureDType::kF16; }}) {
    job::Graph graph = StreamedGraph();
    change(&graph.preprocess);
    EXPECT_EQ(CheckOptionsForMemoryLimit(graph, false, false).message(), changed);
  }
}

TEST(CheckMemorySufficesTest, ReportsRequiredMemory) {
  const graph::SourceGraph graph = CommunityGraph(4, 1000, 8, 1, /*seed=*/1);
  const partition::PartitionOptions cut{.num_partitions = 1};
  const partition::BuildOptions build;
  const uint64_t for_cut = partition::LeastStreamingMemory(graph, cut);
  const uint64_t for_build = partition::ComputeBuildMemory(graph, 1, partition::kBalancedLargestToAverage, build);
  ASSERT_GT(for_build, for_cut);
  const auto check = [&](uint64_t memory_bytes, job::PartitionAlgorithm algorithm) {
    return CheckMemorySuffices(graph,
                               {.memory_bytes = memory_bytes, .algorithm = algorithm, .cut = cut, .build = build});
  };
  EXPECT_TRUE(check(for_build, job::PartitionAlgorithm::kStreaming).ok());
  EXPECT_EQ(check(for_build - 1, job::PartitionAlgorithm::kStreaming).message(),
            "the memory of the partitioner is " + std::to_string(for_build - 1) + " bytes, expected at least " +
                std::to_string(for_build) + ": cutting the graph needs " + std::to_string(for_cut) +
                " bytes, and building one of its 1 partitions needs " + std::to_string(for_build) +
                " bytes: give it more memory, or make more partitions");
  EXPECT_EQ(check(1, job::PartitionAlgorithm::kRandom).message(),
            "the memory of the partitioner is 1 bytes, expected at least " + std::to_string(for_build) +
                ": cutting the graph needs 32000 bytes, and building one of its 1 partitions needs " +
                std::to_string(for_build) + " bytes: give it more memory, or make more partitions");
}

TEST(MakeScratchSpaceTest, ReservesTheDiskSpace) {
  const Result<partition::ScratchSpace> space = MakeScratchSpace(::testing::TempDir(), 4096);
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_EQ(space->bytes.size(), 4096u);
  space->bytes[4095] = std::byte{1};
  // A file system has no room for 2^62 bytes, or no files of that size.
  const Status full = MakeScratchSpace(::testing::TempDir(), uint64_t{1} << 62).status();
  EXPECT_FALSE(full.ok());
  EXPECT_THAT(full.message(), ::testing::HasSubstr("making room on disk for edges that do not fit into the memory"));
  EXPECT_THAT(full.message(), ::testing::HasSubstr("reserving 4611686018427387904 bytes in"));
}

}  // namespace
}  // namespace espalier::partitioner
