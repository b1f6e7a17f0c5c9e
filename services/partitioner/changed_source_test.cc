// The source is modified while it is being cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;

class ChangedSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const graph::SourceGraph source = partition::testing::TypedGraph(20, /*seed=*/5);
    ASSERT_EQ(format::WriteNpyFolder(source, Folder()), Status());
    graph_.source = {.uri = Folder(), .format = job::GraphFormat::kNpy};
    graph_.partitions.algorithm = job::PartitionAlgorithm::kRandom;
    graph_.partitions.count = 2;
  }
  std::string Folder() const { return root_.path() + "/source"; }

  // Runs the pipeline and calls `happens` when the phase "writing" begins.
  Result<PartitionOutcome> Run(const std::function<void()>& happens) {
    PartitionPipelineOptions options;
    options.get_meter = [&](std::string_view phase) -> WorkMeter* {
      if (phase == "writing") happens();
      return nullptr;
    };
    return PartitionGraph(graph_, /*seed=*/1, root_.path() + "/partitions", nullptr, options);
  }

  const storage::TemporaryFolder root_;
  job::Graph graph_;
};

// Otherwise the partitions would have the key of a source from which they were not made.
TEST_F(ChangedSourceTest, CommitsNothingIfSourceChanges) {
  std::string changed;
  for (const auto& file : std::filesystem::directory_iterator(Folder())) {
    if (file.path().extension() == ".npy") changed = file.path();
  }
  ASSERT_FALSE(changed.empty());
  const auto outcome = Run([&] {
    const Tensor same = *format::ReadNpy(changed);
    const std::string beside = changed + ".new";
    ASSERT_EQ(format::WriteNpy(beside, same), Status());
    // The timestamps of a file system have a resolution of some milliseconds.
    std::filesystem::last_write_time(beside, std::filesystem::last_write_time(changed) + std::chrono::seconds(1));
    std::filesystem::rename(beside, changed);
  });
  EXPECT_EQ(outcome.status().code(), StatusCode::kAborted) << outcome.status().ToString();
  EXPECT_THAT(outcome.status().message(), HasSubstr(changed + " has changed since it was opened"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path() + "/partitions")) {
    EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
}

TEST_F(ChangedSourceTest, UnrelatedFilesMayChange) {
  const auto outcome = Run([&] { std::ofstream(Folder() + "/trainer-0.log") << "a line"; });
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
}

}  // namespace
}  // namespace espalier::partitioner
