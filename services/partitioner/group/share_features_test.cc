// Compares the features that several processes normalize with those of one process.
#include "services/partitioner/group/share_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/partitioner/group/testing/group_test.h"

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;

// Typed() with a matrix of features, one of labels and a vector in every node type that has nodes.
graph::SourceGraph WithFeatures() {
  graph::SourceGraph graph = Typed();
  for (graph::NodeSet& nodes : graph.nodes) {
    if (nodes.count == 0) continue;
    const auto count = static_cast<int64_t>(nodes.count);
    std::vector<float> features(3 * nodes.count), labels(2 * nodes.count), numbers(nodes.count);
    for (size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 11) - 4;
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(i % 2);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    nodes.columns["x"] = Tensor::FromVector(std::move(features), {count, 3});
    nodes.columns["node-label"] = Tensor::FromVector(std::move(labels), {count, 2});
    nodes.columns["number"] = Tensor::FromVector(std::move(numbers));
  }
  return graph;
}

class GroupFeaturesTest : public GroupTest {
 protected:
  void Normalize(const graph::SourceGraph& source, job::PartitionAlgorithm algorithm) {
    Use(source);
    CutBy({.name = "", .source = Typed, .algorithm = algorithm, .balance = {}});
    graph_.preprocess.normalize_features = job::RowNormalization::kRow;
  }

  void ExpectAGroupWritesWhatOneWrites() {
    const auto alone = Run(store_, "alone", std::nullopt);
    ASSERT_TRUE(alone.ok()) << alone.status().ToString();
    for (const uint32_t size : {2u, 7u}) {
      storage::MemoryStore store;
      for (const Result<PartitionOutcome>& outcome : RunGroup(store, size)) {
        ASSERT_TRUE(outcome.ok()) << size << ": " << outcome.status().ToString();
        ExpectSame(outcome->manifest, alone->manifest);
      }
    }
  }
};

TEST_F(GroupFeaturesTest, MatchOneProcessInNodesAndSourceColumns) {
  Normalize(WithFeatures(), job::PartitionAlgorithm::kStreaming);
  ExpectAGroupWritesWhatOneWrites();
  graph_.partitions.source_columns = {"x", "node-label", "number", "original_id"};
  ExpectAGroupWritesWhatOneWrites();
  graph_.preprocess.add_reverse_edges = true;
  graph_.preprocess.drop_duplicate_edges = true;
  ExpectAGroupWritesWhatOneWrites();
  graph_.preprocess.feature_dtype = job::FeatureDType::kF16;
  ExpectAGroupWritesWhatOneWrites();
  graph_.preprocess.normalize_features = job::RowNormalization::kNone;
  ExpectAGroupWritesWhatOneWrites();
  graph_.partitions.count = 1;  // the partition shares the columns of the source
  ExpectAGroupWritesWhatOneWrites();
}

TEST_F(GroupFeaturesTest, HaveTheScalesOfOneProcess) {
  Normalize(WithFeatures(), job::PartitionAlgorithm::kStreaming);
  graph_.preprocess.feature_dtype = job::FeatureDType::kI8;
  ExpectAGroupWritesWhatOneWrites();
  graph_.preprocess.normalize_features = job::RowNormalization::kNone;
  graph_.preprocess.add_reverse_edges = true;
  ExpectAGroupWritesWhatOneWrites();
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  EXPECT_EQ(alone->manifest.format_version, 2);
  const auto& columns = alone->manifest.node_columns[0];
  const auto x = std::find_if(columns.begin(), columns.end(), [](const auto& column) { return column.name == "x"; });
  ASSERT_NE(x, columns.end());
  EXPECT_EQ(x->dtype, DType::kI8);
  EXPECT_EQ(x->scales.size(), 3u);
}

TEST_F(GroupFeaturesTest, I8FeaturesAreRefusedAsSourceColumns) {
  Normalize(WithFeatures(), job::PartitionAlgorithm::kRandom);
  graph_.preprocess.feature_dtype = job::FeatureDType::kI8;
  graph_.partitions.source_columns = {"number", "x"};
  const Status alone = Run(store_, "alone", std::nullopt).status();
  EXPECT_EQ(alone.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(alone.message(),
              HasSubstr("the source column 'x' holds features in I8, and edge columns cannot have their scales: "
                        "choose another feature data type, or omit the source column"));
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    EXPECT_EQ(outcome.status().code(), alone.code());
    EXPECT_THAT(outcome.status().message(), HasSubstr(alone.message()));
  }
}

// Partitions without normalization differ, so the tests above would fail if no process normalized.
TEST_F(GroupFeaturesTest, NormalizationChangesPartitions) {
  Normalize(WithFeatures(), job::PartitionAlgorithm::kRandom);
  const auto normalized = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(normalized.ok()) << normalized.status().ToString();
  graph_.preprocess.normalize_features = job::RowNormalization::kNone;
  const auto plain = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_NE(normalized->manifest.partitions[0].node_columns.block_hashes,
            plain->manifest.partitions[0].node_columns.block_hashes);
}

// One process has the row in its range.
TEST_F(GroupFeaturesTest, ARowThatI8CannotHoldEndsAllWithItsNumber) {
  graph::SourceGraph bad = WithFeatures();
  const auto count = static_cast<int64_t>(bad.nodes[0].count);
  ASSERT_GT(count, 9);
  std::vector<double> rows(3 * bad.nodes[0].count, 1);
  rows[28] = 1e39;  // finite in F64
  bad.nodes[0].columns["x"] = Tensor::FromVector(std::move(rows), {count, 3});
  Use(bad);
  CutBy({.name = "", .source = Typed, .algorithm = job::PartitionAlgorithm::kRandom, .balance = {}});
  graph_.preprocess.feature_dtype = job::FeatureDType::kI8;
  const Status alone = Run(store_, "alone", std::nullopt).status();
  EXPECT_EQ(alone.code(), StatusCode::kInvalidArgument);
  ASSERT_THAT(alone.message(), HasSubstr("column 'x': row 9 is not finite in F32"));
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    EXPECT_EQ(outcome.status().code(), alone.code());
    EXPECT_THAT(outcome.status().message(), HasSubstr(alone.message()));
  }
}

// One process has the row in its range.
TEST_F(GroupFeaturesTest, ARowThatCannotBeNormalizedEndsAllWithItsNumber) {
  graph::SourceGraph bad = WithFeatures();
  std::vector<float> rows(3 * bad.nodes[0].count, 1);
  ASSERT_GT(bad.nodes[0].count, 9u);
  rows[27] = 1e30f, rows[28] = -1e30f, rows[29] = 1e-20f;
  bad.nodes[0].columns["x"] = Tensor::FromVector(std::move(rows), {static_cast<int64_t>(bad.nodes[0].count), 3});
  Normalize(bad, job::PartitionAlgorithm::kRandom);
  const Status alone = Run(store_, "alone", std::nullopt).status();
  ASSERT_THAT(alone.message(), HasSubstr("column 'x': row 9 divided by its sum is not finite in F32"));
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    EXPECT_EQ(outcome.status().code(), alone.code());
    EXPECT_THAT(outcome.status().message(), HasSubstr(alone.message()));
  }
}

}  // namespace
}  // namespace espalier::partitioner
