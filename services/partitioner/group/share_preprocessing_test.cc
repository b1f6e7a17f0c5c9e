// Compares preprocessing by several processes with preprocessing by one.
#include "services/partitioner/group/share_preprocessing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/partitioner/group/testing/group_test.h"
#include "services/storage/testing/faulty_store.h"

namespace espalier::partitioner {
namespace {

using ::testing::HasSubstr;

graph::SourceGraph NoEdgesAtAll() { return partition::testing::GraphOf(7, {}); }

// Returns a graph with edges to drop: self loops, and duplicates in equal and opposite directions in distant rows.
graph::SourceGraph Untidy() {
  partition::testing::Edges edges;
  for (uint32_t i = 0; i < 90; ++i) edges.emplace_back(i, (i * 7 + 3) % 90);
  for (uint32_t i = 0; i < 90; i += 4) edges.emplace_back(i, i);
  for (uint32_t i = 0; i < 90; i += 3) edges.emplace_back(i, (i * 7 + 3) % 90);
  for (uint32_t i = 0; i < 90; i += 5) edges.emplace_back((i * 7 + 3) % 90, i);
  graph::SourceGraph graph = partition::testing::GraphOf(90, edges);
  std::vector<float> weights(graph.edges[0].num_edges());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  graph.edges[0].columns["weight"] = Tensor::FromVector(std::move(weights));
  graph.edge_splits["links"][0] = {.train = {.sources = {1, 4, 12}, .destinations = {10, 31, 87}},
                                   .validation = {.sources = {3, 12}, .destinations = {24, 87}},
                                   .test = {.sources = {0, 5}, .destinations = {3, 38}}};
  return graph;
}

// Returns the graph with a split that selects every edge of every type by ID, including parallel edges.
graph::SourceGraph WithNumberedEdges(graph::SourceGraph graph) {
  for (uint16_t type = 0; type < graph.edges.size(); ++type) {
    graph::EdgePairs& train = graph.edge_splits["all"][type].train;
    for (int64_t row = 0; row < static_cast<int64_t>(graph.edges[type].num_edges()); ++row) {
      train.sources.push_back(static_cast<uint64_t>(graph.edges[type].sources.ValueAsInt(row)));
      train.destinations.push_back(static_cast<uint64_t>(graph.edges[type].destinations.ValueAsInt(row)));
      train.edge_ids.push_back(static_cast<uint64_t>(row));
    }
  }
  return graph;
}
graph::SourceGraph UntidyByNumber() { return WithNumberedEdges(Untidy()); }
graph::SourceGraph TypedByNumber() { return WithNumberedEdges(Typed()); }

struct Change {
  const char* name;
  graph::SourceGraph (*source)();
  job::PartitionAlgorithm algorithm;
  job::Preprocess preprocess;
  std::optional<graph::HeldOutEdges> held_out;
};

class GroupPreprocessingTest : public GroupTest, public ::testing::WithParamInterface<Change> {};

TEST_P(GroupPreprocessingTest, WritesTheBytesThatOneProcessWrites) {
  Use(GetParam().source());
  CutBy({.name = "", .source = GetParam().source, .algorithm = GetParam().algorithm, .balance = {}});
  graph_.preprocess = GetParam().preprocess;
  held_out_ = GetParam().held_out;
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  for (const uint32_t size : {2u, 3u, 11u}) {
    storage::MemoryStore store;
    for (const Result<PartitionOutcome>& outcome : RunGroup(store, size)) {
      ASSERT_TRUE(outcome.ok()) << size << ": " << outcome.status().ToString();
      ExpectSame(outcome->manifest, alone->manifest);
    }
    EXPECT_EQ(store.List("group/")->size(), 1 + 4 * alone->manifest.partitions.size());
  }
}

constexpr auto kStreaming = job::PartitionAlgorithm::kStreaming;
constexpr auto kRandom = job::PartitionAlgorithm::kRandom;

INSTANTIATE_TEST_SUITE_P(
    All, GroupPreprocessingTest,
    ::testing::Values(
        Change{"UndirectedSimple",
               Untidy,
               kStreaming,
               {.add_reverse_edges = true, .drop_self_loops = true, .drop_duplicate_edges = true},
               {}},
        Change{"SelfLoops", Untidy, kStreaming, {.drop_self_loops = true}, {}},
        Change{"Duplicates", Untidy, kRandom, {.drop_duplicate_edges = true}, {}},
        Change{"Reverses", Untidy, kStreaming, {.add_reverse_edges = true}, {}},
        Change{"HeldOut", Untidy, kStreaming, {}, graph::HeldOutEdges{"links", "", ""}},
        Change{"HeldOutOfUndirected",
               Untidy,
               kStreaming,
               {.add_reverse_edges = true, .drop_duplicate_edges = true},
               graph::HeldOutEdges{"links", "", ""}},
        Change{"TypedSimple", Typed, kStreaming, {.drop_self_loops = true, .drop_duplicate_edges = true}, {}},
        Change{"TypedReverses",
               Typed,
               kStreaming,
               {.add_reverse_edges = true, .drop_self_loops = true, .drop_duplicate_edges = true},
               {}},
        Change{"NumberedSelfLoops", UntidyByNumber, kRandom, {.drop_self_loops = true}, {}},
        Change{"NumberedReverses", UntidyByNumber, kStreaming, {.add_reverse_edges = true}, {}},
        Change{"TypedNumberedReverses",
               TypedByNumber,
               kStreaming,
               {.add_reverse_edges = true, .drop_self_loops = true},
               {}},
        Change{"NoEdges",
               NoEdgesAtAll,
               kStreaming,
               {.add_reverse_edges = true, .drop_self_loops = true, .drop_duplicate_edges = true},
               {}}),
    [](const auto& instance) { return std::string(instance.param.name); });

class GroupPreprocessingLifeTest : public GroupTest {
 protected:
  void SetUp() override {
    Use(Typed());
    CutBy({.name = "", .source = Typed, .algorithm = kStreaming, .balance = {}});
  }
};

TEST_F(GroupPreprocessingLifeTest, ProcessKilledWhileDroppingDuplicatesMayRestart) {
  graph_.preprocess.add_reverse_edges = true;
  graph_.preprocess.drop_duplicate_edges = true;
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  for (const int64_t writes : {4, 5, 6, 7, 8, 10, 16}) {
    storage::MemoryStore store;
    storage::FaultyStore failing(store, writes);
    Result<PartitionOutcome> first = Internal("has not run"), second = Internal("has not run");
    {
      const std::jthread other([&] { first = Run(store, "group", Group(0, 2)); });
      second = Run(failing, "group", Group(1, 2));
      if (!second.ok()) second = Run(store, "group", Group(1, 2));
    }
    ASSERT_TRUE(first.ok()) << writes << ": " << first.status().ToString();
    ASSERT_TRUE(second.ok()) << writes << ": " << second.status().ToString();
    ExpectSame(first->manifest, alone->manifest);
    ExpectSame(second->manifest, alone->manifest);
  }
}

TEST_F(GroupPreprocessingLifeTest, MissingSplitEndsAllProcessesIfSplitIsNeeded) {
  held_out_ = graph::HeldOutEdges{"no-such-split", "", ""};
  const Status alone = Run(store_, "alone", std::nullopt).status();
  ASSERT_EQ(alone.code(), StatusCode::kNotFound);
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 2)) {
    EXPECT_EQ(outcome.status().code(), alone.code());
    EXPECT_THAT(outcome.status().message(), HasSubstr("there is no split 'no-such-split'"));
  }
  needs_split_ = false;
  storage::MemoryStore store;
  const auto made = Run(store, "alone", std::nullopt);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  for (const Result<PartitionOutcome>& outcome : RunGroup(store, 2)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    ExpectSame(outcome->manifest, made->manifest);
  }
}

TEST_F(GroupPreprocessingLifeTest, RefusesEdgesPreprocessedBefore) {
  graph::SourceGraph changed = Typed();
  std::vector<uint64_t> ids(changed.edges[2].num_edges());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = 2 * i;
  changed.edges[2].original_ids = Tensor::FromVector(std::move(ids));
  Use(changed);
  graph_.preprocess.drop_duplicate_edges = true;
  const Status alone = Run(store_, "alone", std::nullopt).status();
  ASSERT_EQ(alone.code(), StatusCode::kInvalidArgument);
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    EXPECT_THAT(outcome.status().message(), HasSubstr("was preprocessed before: original edge ids would be lost"));
  }
}

}  // namespace
}  // namespace espalier::partitioner
