// A partitioning in bounded memory is the same as without a bound, and a bound that is too small is found early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/format/source/npy_folder.h"
#include "services/partition/memory_need.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/partitioner/partition_plan.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the checksums of all files of a partitioning.
std::vector<std::vector<uint64_t>> ChecksumsOf(const format::Manifest& manifest) {
  std::vector<std::vector<uint64_t>> checksums;
  for (const format::PartitionEntry& partition : manifest.partitions) {
    for (const format::FileEntry* file :
         {&partition.graph, &partition.node_columns, &partition.edge_columns, &partition.original_edge_ids}) {
      checksums.push_back(file->block_hashes);
    }
  }
  return checksums;
}

class BoundedPipelineTest : public ::testing::Test {
 protected:
  BoundedPipelineTest() {
    source_.nodes[0].columns["x"] = Tensor::Zeros(DType::kF16, {static_cast<int64_t>(source_.nodes[0].count), 4});
    ESPALIER_CHECK(format::WriteNpyFolder(source_, folder_.path() + "/graph").ok());
    graph_.source = {.uri = folder_.path() + "/graph", .format = job::GraphFormat::kNpy};
    graph_.partitions.algorithm = job::PartitionAlgorithm::kStreaming;
    graph_.partitions.balance = {job::PartitionBalance::kEdges};
    graph_.partitions.count = 16;
  }
  // Writes the partitions below `output`. Records the phases.
  Result<PartitionOutcome> Run(const std::string& output, uint64_t memory_bytes) {
    phases_.clear();
    const auto progress = [&](std::string_view phase, double fraction) {
      if (fraction == 0) phases_.emplace_back(phase);
    };
    PartitionPipelineOptions options{.threads = 2, .memory_bytes = memory_bytes};
    options.access.cache.folder = folder_.path() + "/cache";
    return PartitionGraph(graph_, /*seed=*/1, folder_.path() + "/" + output, progress, options);
  }
  uint64_t LeastMemory() const {
    return partition::LeastStreamingMemory(source_, ToPartitionOptions(graph_.partitions, {}));
  }

  const storage::TemporaryFolder folder_;
  graph::SourceGraph source_ = partition::testing::CommunityGraph(4, 500, 6, 1, /*seed=*/3);
  job::Graph graph_;
  std::vector<std::string> phases_;
};

// With the least memory, the rows of Streaming are written to a scratch file in about 16 chunks.
TEST_F(BoundedPipelineTest, WritesTheSameBytesUnderTheSameKey) {
  ASSERT_GE(LeastMemory(), partition::ComputeBuildMemory(source_, 16, partition::kBalancedLargestToAverage, {}));
  const Result<PartitionOutcome> unbounded = Run("unbounded", 0);
  ASSERT_TRUE(unbounded.ok()) << unbounded.status().ToString();
  const Result<PartitionOutcome> bounded = Run("bounded", LeastMemory());
  ASSERT_TRUE(bounded.ok()) << bounded.status().ToString();
  EXPECT_EQ(bounded->partition_key, unbounded->partition_key);
  EXPECT_EQ(ChecksumsOf(bounded->manifest), ChecksumsOf(unbounded->manifest));
  EXPECT_EQ(bounded->manifest.quality, unbounded->manifest.quality);
}

TEST_F(BoundedPipelineTest, RefusesTooLittleMemoryBeforeTheGraphIsRead) {
  const Status refused = Run("partitions", LeastMemory() - 1).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("the memory of the partitioner is " + std::to_string(LeastMemory() - 1) +
                                           " bytes, expected at least " + std::to_string(LeastMemory())));
  EXPECT_THAT(phases_, ElementsAre("digesting", "reading"));
}

// All edges lead to one node, so one of two partitions has them all.
TEST_F(BoundedPipelineTest, RefusesAPartitionThatIsTooLargeBeforeItIsBuilt) {
  std::vector<uint32_t> sources(200'000), destinations(200'000, 5);
  for (uint32_t i = 0; i < sources.size(); ++i) sources[i] = i % 2000;
  source_.edges[0].sources = Tensor::FromVector(std::move(sources));
  source_.edges[0].destinations = Tensor::FromVector(std::move(destinations));
  ASSERT_TRUE(format::WriteNpyFolder(source_, folder_.path() + "/star").ok());
  graph_.source.uri = folder_.path() + "/star";
  graph_.partitions.algorithm = job::PartitionAlgorithm::kRandom;
  graph_.partitions.balance = {};
  graph_.partitions.count = 2;
  const uint64_t memory = partition::ComputeBuildMemory(source_, 2, partition::kBalancedLargestToAverage, {});
  EXPECT_THAT(Run("partitions", memory).status().message(),
              HasSubstr("expected at least " + std::to_string(partition::ComputeBuildMemory(source_, 2, 2, {}))));
  EXPECT_THAT(phases_, ElementsAre("digesting", "reading", "preprocessing", "cutting", "measuring"));
}

TEST_F(BoundedPipelineTest, NamesTheBadEdgeOfTheUser) {
  source_.edges[0].sources = Tensor::FromVector(std::vector<uint32_t>{0, 1, 7000});
  source_.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{1, 2, 3});
  ASSERT_TRUE(format::WriteNpyFolder(source_, folder_.path() + "/bad").ok());
  graph_.source.uri = folder_.path() + "/bad";
  const Status unbounded = Run("partitions", 0).status();
  EXPECT_EQ(unbounded.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(Run("partitions", uint64_t{1} << 30).status().message(), unbounded.message());
}

TEST_F(BoundedPipelineTest, RefusesChangesThatHoldTheGraphInMemory) {
  graph_.preprocess.add_reverse_edges = true;
  EXPECT_THAT(Run("partitions", uint64_t{1} << 30).status().message(),
              HasSubstr("memory limit: preprocessing and held-out edges"));
  EXPECT_THAT(phases_, ElementsAre());
}

}  // namespace
}  // namespace espalier::partitioner
