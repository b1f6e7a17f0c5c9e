// Tests of which inputs change the key of a partitioning and which do not.
#include "services/partitioner/partition_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace espalier::partitioner {
namespace {

struct Input {
  job::Graph graph;
  PartitionContext context;
  PartitionKeyInput key{.source_digest = "abc", .algorithm_version = 1};
};
using InputChange = std::function<void(Input&)>;

std::string KeyOf(const Input& input) { return PartitionKey(input.graph, input.context, input.key); }
std::string KeyWith(Input input, const InputChange& change) {
  change(input);
  return KeyOf(input);
}
Input InputFor(job::PartitionAlgorithm algorithm) {
  Input input;
  input.graph.partitions.algorithm = algorithm;
  return input;
}

TEST(PartitionKeyTest, Is64HexadecimalDigits) { EXPECT_THAT(KeyOf(Input()), ::testing::MatchesRegex("[0-9a-f]{64}")); }

// Keys are the names of existing folders: if this key changes, all partitionings are made again.
TEST(PartitionKeyTest, IsStable) {
  EXPECT_EQ(KeyOf(Input()), KeyOf(Input()));
  EXPECT_EQ(KeyOf(Input()), "3ec2a6ccce6ee8ac4c1bb61bc26c84b837427ea79737f0576b56df69014462b8");
}

TEST(PartitionKeyTest, DependsOnEverythingThatChangesResult) {
  const std::vector<InputChange> changes = {
      [](Input& i) { i.key.source_digest = "abd"; },
      [](Input& i) { i.key.algorithm_version = 2; },
      [](Input& i) { i.key.nonce = "n"; },
      [](Input& i) { i.graph.source.format = job::GraphFormat::kNpy; },
      [](Input& i) { i.graph.preprocess.add_reverse_edges = true; },
      [](Input& i) { i.graph.preprocess.drop_self_loops = true; },
      [](Input& i) { i.graph.preprocess.drop_duplicate_edges = true; },
      [](Input& i) { i.graph.preprocess.normalize_features = job::RowNormalization::kRow; },
      [](Input& i) { i.graph.preprocess.feature_dtype = job::FeatureDType::kF16; },
      [](Input& i) { i.graph.preprocess.feature_dtype = job::FeatureDType::kBf16; },
      [](Input& i) { i.graph.preprocess.feature_dtype = job::FeatureDType::kI8; },
      [](Input& i) { i.graph.partitions.count = 2; },
      [](Input& i) { i.graph.partitions.algorithm = job::PartitionAlgorithm::kRandom; },
      [](Input& i) { i.graph.partitions.objective = job::PartitionObjective::kCommunicationVolume; },
      [](Input& i) { i.graph.partitions.balance = {job::PartitionBalance::kEdges}; },
      [](Input& i) { i.graph.partitions.balance = {job::PartitionBalance::kTrainNodes}; },
      [](Input& i) { i.context.seed = 1; },
      [](Input& i) { i.graph.time_column = "year"; },
      [](Input& i) { i.graph.partitions.source_columns = {"original_id"}; },
      [](Input& i) {
        i.context.held_out = graph::HeldOutEdges{"links", "", ""};
      },
      [](Input& i) {
        i.context.held_out = graph::HeldOutEdges{"links", "cites", ""};
      },
      [](Input& i) {
        i.context.held_out = graph::HeldOutEdges{"links", "", "", {"cites", "writes"}};
      },
  };
  std::set<std::string> keys = {KeyOf(Input())};
  for (size_t i = 0; i < changes.size(); ++i) EXPECT_TRUE(keys.insert(KeyWith(Input(), changes[i])).second) << i;
}

TEST(PartitionKeyTest, IgnoresOtherOptions) {
  const std::vector<InputChange> changes = {
      [](Input& i) { i.context.threads = 8; },
      [](Input& i) { i.context.train_split = "public"; },       // training nodes are not balanced
      [](Input& i) { i.context.label_columns = {"classes"}; },  // features are not normalized
      [](Input& i) { i.graph.source.uri = "file:///elsewhere"; },
      [](Input& i) { i.graph.partitions.uri = "file:///there"; },
  };
  for (size_t i = 0; i < changes.size(); ++i) EXPECT_EQ(KeyWith(Input(), changes[i]), KeyOf(Input())) << i;

  const Input random = InputFor(job::PartitionAlgorithm::kRandom);
  EXPECT_EQ(KeyOf(random), KeyWith(random, [](Input& i) {
              i.graph.partitions.objective = job::PartitionObjective::kCommunicationVolume;
            }));
}

TEST(PartitionKeyTest, AllowsNamesThatAreNotUtf8) {
  const auto of = [](const char* name) { return KeyWith(Input(), [&](Input& i) { i.graph.time_column = name; }); };
  EXPECT_NE(of("gr\xf6sse"), of("year"));
}

TEST(PartitionKeyTest, IgnoresOrderOfSourceColumns) {
  EXPECT_EQ(KeyWith(Input(),
                    [](Input& i) {
                      i.graph.partitions.source_columns = {"a", "b"};
                    }),
            KeyWith(Input(), [](Input& i) {
              i.graph.partitions.source_columns = {"b", "a"};
            }));
}

TEST(PartitionKeyTest, DependsOnTheSplitAndTheLabelWhereTheyMatter) {
  Input balanced;
  balanced.graph.partitions.balance = {job::PartitionBalance::kTrainNodes};
  EXPECT_NE(KeyOf(balanced), KeyWith(balanced, [](Input& i) { i.context.train_split = "public"; }));
  Input normalized;
  normalized.graph.preprocess.normalize_features = job::RowNormalization::kRow;
  EXPECT_NE(KeyOf(normalized), KeyWith(normalized, [](Input& i) { i.context.label_columns = {"classes"}; }));
  EXPECT_EQ(KeyOf(normalized), KeyWith(normalized, [](Input& i) { i.context.label_columns = {"node-label"}; }));
  const auto with_labels = [&](std::vector<std::string> labels) {
    return KeyWith(normalized, [&](Input& i) { i.context.label_columns = std::move(labels); });
  };
  EXPECT_EQ(with_labels({"a", "b"}), with_labels({"b", "node-label", "a", "b"}));
  EXPECT_NE(with_labels({"a", "b"}), with_labels({"a"}));
}

TEST(PartitionKeyTest, OfExternalDependsOnTheAssignmentAndNotOnTheSeed) {
  const Input external = InputFor(job::PartitionAlgorithm::kExternal);
  EXPECT_EQ(KeyOf(external), KeyWith(external, [](Input& i) { i.context.seed = 1; }));
  EXPECT_NE(KeyOf(external), KeyWith(external, [](Input& i) { i.key.assignment_digest = "x"; }));
}

TEST(PartitionKeyTest, TakesConstraintsInAnyOrder) {
  using job::PartitionBalance;
  Input one, other;
  one.graph.partitions.balance = {PartitionBalance::kEdges, PartitionBalance::kNodeTypes, PartitionBalance::kEdges};
  other.graph.partitions.balance = {PartitionBalance::kNodeTypes, PartitionBalance::kEdges};
  EXPECT_EQ(KeyOf(one), KeyOf(other));
}

}  // namespace
}  // namespace espalier::partitioner
