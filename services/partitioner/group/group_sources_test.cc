// Compares several processes with one for sources that cannot be mapped: each process converts the text to its own
// files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "services/partitioner/group/testing/group_test.h"

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;

class GroupSourcesTest : public GroupTest {
 protected:
  void SetUp() override {
    graph_.partitions.count = 4;
    graph_.partitions.algorithm = job::PartitionAlgorithm::kStreaming;
  }

  // Writes a file of `lines` lines below the source's folder.
  void WriteLines(const std::string& name, size_t lines, const std::function<std::string(size_t)>& line) {
    const std::filesystem::path path = folder_.path() + "/source/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path);
    for (size_t i = 0; i < lines; ++i) file << line(i) << "\n";
    ASSERT_TRUE(file.flush().good()) << path;
  }

  void WriteCount(const std::string& name, size_t count) {
    WriteLines(name, 1, [&](size_t) { return std::to_string(count); });
  }

  void ExpectAGroupWritesWhatOneProcessWrites() {
    const auto alone = Run(store_, "alone", std::nullopt);
    ASSERT_TRUE(alone.ok()) << alone.status().ToString();
    for (const uint32_t size : {2u, 5u}) {
      storage::MemoryStore store;
      for (const Result<PartitionOutcome>& outcome : RunGroup(store, size)) {
        ASSERT_TRUE(outcome.ok()) << size << ": " << outcome.status().ToString();
        EXPECT_FALSE(outcome->reused);
        ExpectSame(outcome->manifest, alone->manifest);
      }
    }
  }

  void UseSource(job::GraphFormat format) { graph_.source = {.uri = folder_.path() + "/source", .format = format}; }

  void WriteOgb() {
    constexpr size_t kNodes = 120, kEdges = 700;
    WriteCount("raw/num-node-list.csv", kNodes);
    WriteCount("raw/num-edge-list.csv", kEdges);
    WriteLines("raw/edge.csv", kEdges,
               [](size_t i) { return std::to_string(i * 31 % kNodes) + "," + std::to_string(i * i % kNodes); });
    WriteLines("raw/edge_weight.csv", kEdges, [](size_t i) { return std::to_string(i % 17) + (i == 600 ? ".5" : ""); });
    WriteLines("raw/node-feat.csv", kNodes,
               [](size_t i) { return std::to_string(i) + "," + std::to_string(i % 7) + ".25,-3"; });
    WriteLines("raw/node-label.csv", kNodes, [](size_t i) { return std::to_string(i % 5); });
    WriteLines("split/random/train.csv", 60, [](size_t i) { return std::to_string(i); });
    WriteLines("split/random/valid.csv", 30, [](size_t i) { return std::to_string(60 + i); });
    WriteLines("split/random/test.csv", 30, [](size_t i) { return std::to_string(90 + i); });
    UseSource(job::GraphFormat::kOgb);
  }

  void WriteTriples() {
    const auto triple = [](size_t i) {
      return "e" + std::to_string(i * 37 % 101) + "\tr" + std::to_string(i % 3) + "\te" + std::to_string(i * i % 97);
    };
    WriteLines("train.txt", 500, triple);
    WriteLines("valid.txt", 40, [&](size_t i) { return triple(1000 + i); });
    WriteLines("test.txt", 40, [&](size_t i) { return triple(2000 + i); });
    UseSource(job::GraphFormat::kTriples);
  }
};

TEST_F(GroupSourcesTest, OgbText) {
  WriteOgb();
  ExpectAGroupWritesWhatOneProcessWrites();
}

TEST_F(GroupSourcesTest, OgbTextWhoseLabelsLackValues) {
  WriteOgb();
  WriteLines("raw/node-label.csv", 120, [](size_t i) { return i % 7 == 3 ? "nan" : std::to_string(i % 5); });
  ExpectAGroupWritesWhatOneProcessWrites();
}

// Only rank 0 reads values. The others return its error and do not wait for their deadline.
TEST_F(GroupSourcesTest, AllEndIfCallerRefusesMissingValues) {
  WriteOgb();
  WriteLines("raw/node-label.csv", 120, [](size_t i) { return i == 3 ? "nan" : std::to_string(i % 5); });
  check_values_ = [](const GraphMetadata& metadata) {
    const bool lacks_values = metadata.node_columns[0].at("node-label").lacks_values;
    return lacks_values ? InvalidArgument("node-label lacks values") : Status();
  };
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(outcome.status().message(), HasSubstr("node-label lacks values"));
  }
}

// Every process reports the same wrong value, and the manifest has the warning about the split that was ignored.
TEST_F(GroupSourcesTest, OgbTextWithOtherMissingValuesOrWithoutSplit) {
  WriteOgb();
  WriteLines("split/links/train.pt", 1, [](size_t) { return "PK"; });
  const auto outcomes = RunGroup(store_, 2);
  ASSERT_TRUE(outcomes[0].ok() && outcomes[1].ok()) << outcomes[0].status().ToString();
  for (const Result<PartitionOutcome>& outcome : outcomes) {
    EXPECT_THAT(outcome->manifest.warnings, ::testing::ElementsAre(HasSubstr("split 'links' is omitted: ")));
  }

  WriteLines("raw/node_score.csv", 120, [](size_t i) { return i == 90 ? "none" : "0.5"; });
  storage::MemoryStore store;
  for (const Result<PartitionOutcome>& outcome : RunGroup(store, 2)) {
    EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(outcome.status().message(),
                HasSubstr("node_score.csv:91, field 1 is 'none': expected a number; only label"));
  }
}

TEST_F(GroupSourcesTest, OgbTextThatChangesDuringRead) {
  WriteOgb();
  graph_.preprocess = {.add_reverse_edges = true,
                       .drop_self_loops = true,
                       .drop_duplicate_edges = true,
                       .normalize_features = job::RowNormalization::kRow};
  graph_.time_column = "edge_weight";
  ExpectAGroupWritesWhatOneProcessWrites();
}

TEST_F(GroupSourcesTest, OgbTextOfSeveralTypes) {
  constexpr size_t kAuthors = 40, kPapers = 90, kWrites = 300, kCites = 200;
  WriteLines("raw/num-node-dict.csv", 2, [](size_t i) {
    return i == 0 ? "author,paper" : std::to_string(kAuthors) + "," + std::to_string(kPapers);
  });
  WriteLines("raw/triplet-type-list.csv", 2,
             [](size_t i) { return i == 0 ? "author,writes,paper" : "paper,cites,paper"; });
  WriteCount("raw/relations/author___writes___paper/num-edge-list.csv", kWrites);
  WriteLines("raw/relations/author___writes___paper/edge.csv", kWrites,
             [](size_t i) { return std::to_string(i * 7 % kAuthors) + "," + std::to_string(i * i % kPapers); });
  WriteCount("raw/relations/paper___cites___paper/num-edge-list.csv", kCites);
  WriteLines("raw/relations/paper___cites___paper/edge.csv", kCites,
             [](size_t i) { return std::to_string(i * 11 % kPapers) + "," + std::to_string(i * 5 % kPapers); });
  WriteLines("raw/relations/paper___cites___paper/edge_year.csv", kCites,
             [](size_t i) { return std::to_string(1990 + i % 30); });
  WriteLines("raw/node-feat/paper/node-feat.csv", kPapers, [](size_t i) { return std::to_string(i) + ",0.125"; });
  WriteLines("raw/node-label/paper/node-label.csv", kPapers, [](size_t i) { return std::to_string(i % 4); });
  WriteLines("split/time/paper/train.csv", 50, [](size_t i) { return std::to_string(i); });
  WriteLines("split/time/paper/valid.csv", 20, [](size_t i) { return std::to_string(50 + i); });
  WriteLines("split/time/paper/test.csv", 20, [](size_t i) { return std::to_string(70 + i); });
  UseSource(job::GraphFormat::kOgb);
  ExpectAGroupWritesWhatOneProcessWrites();
  graph_.partitions.source_columns = {"node-feat", "original_id"};
  graph_.preprocess.normalize_features = job::RowNormalization::kRow;
  ExpectAGroupWritesWhatOneProcessWrites();
}

TEST_F(GroupSourcesTest, TriplesOfAFolder) {
  WriteTriples();
  ExpectAGroupWritesWhatOneProcessWrites();
  held_out_ = graph::HeldOutEdges{"files", "", ""};
  ExpectAGroupWritesWhatOneProcessWrites();
}

TEST_F(GroupSourcesTest, TriplesOfOneFileBalanced) {
  WriteTriples();
  graph_.source.uri += "/train.txt";
  graph_.partitions.balance = {job::PartitionBalance::kEdges};
  ExpectAGroupWritesWhatOneProcessWrites();
}

TEST_F(GroupSourcesTest, BadLineEndsAllWithItsPosition) {
  WriteOgb();
  WriteLines("raw/edge.csv", 700, [](size_t i) { return i == 400 ? std::string("1,120") : std::string("1,2"); });
  const Status alone = Run(store_, "alone", std::nullopt).status();
  ASSERT_EQ(alone.code(), StatusCode::kOutOfRange);
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    EXPECT_EQ(outcome.status().code(), alone.code());
    EXPECT_THAT(outcome.status().message(), HasSubstr("raw/edge.csv:401: the destination is 120"));
  }
}

}  // namespace
}  // namespace espalier::partitioner
