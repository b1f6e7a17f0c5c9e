// Compares the results of several processes with those of one. The processes are threads with a pipeline each, which
// share nothing but a store.
#include "services/partitioner/group/group_partitioning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "services/format/verify/verify.h"
#include "services/partitioner/group/edge_exchange.h"
#include "services/partitioner/group/testing/group_test.h"
#include "services/storage/testing/faulty_store.h"

namespace espalier::partitioner {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns a graph in which all edges have a reverse edge. Its multiplicities are equal, so it is cut without weights.
graph::SourceGraph Grid() { return partition::testing::GridGraph(9, 11); }
graph::SourceGraph Communities() { return partition::testing::CommunityGraph(4, 50, 6, 2, /*seed=*/3); }
graph::SourceGraph WithoutEdges() { return partition::testing::GraphOf(7, {}); }

class GroupPartitioningTest : public GroupTest, public ::testing::WithParamInterface<GroupCase> {
 protected:
  void SetUp() override { Use(GetParam().source()); }
};

TEST_P(GroupPartitioningTest, WritesTheBytesThatOneProcessWrites) {
  CutBy(GetParam());
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  for (const uint32_t size : {2u, 3u, 7u}) {
    storage::MemoryStore store;
    for (const Result<PartitionOutcome>& outcome : RunGroup(store, size)) {
      ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
      EXPECT_FALSE(outcome->reused);
      ExpectSame(outcome->manifest, alone->manifest);
    }
    const std::string prefix = "group/" + alone->partition_key;
    const auto verified = format::VerifyPartitioning(
        store, prefix, {.source = &source_, .data_dir = folder_.path() + "/copies-" + std::to_string(size)});
    ASSERT_TRUE(verified.ok()) << verified.status().ToString();
    EXPECT_THAT(verified->violations, ::testing::IsEmpty());
    // Only the files of the partitioning are left.
    EXPECT_EQ(store.List(prefix + "/")->size(), 1 + 4 * alone->manifest.partitions.size());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GroupPartitioningTest,
    ::testing::Values(GroupCase{"TypedRandom", Typed, job::PartitionAlgorithm::kRandom, {}},
                      GroupCase{"TypedExternal", Typed, job::PartitionAlgorithm::kExternal, {}},
                      GroupCase{"TypedStreaming", Typed, job::PartitionAlgorithm::kStreaming, {}},
                      GroupCase{"TypedStreamingBalanced",
                                Typed,
                                job::PartitionAlgorithm::kStreaming,
                                {job::PartitionBalance::kNodeTypes, job::PartitionBalance::kTrainNodes,
                                 job::PartitionBalance::kEdges}},
                      GroupCase{"GridStreaming", Grid, job::PartitionAlgorithm::kStreaming, {}},
                      GroupCase{"CommunitiesStreaming", Communities, job::PartitionAlgorithm::kStreaming, {}},
                      GroupCase{"NoEdgesStreaming", WithoutEdges, job::PartitionAlgorithm::kStreaming, {}}),
    [](const auto& instance) { return std::string(instance.param.name); });

// Provides a source in the format of DGL's tools: every array in two chunks, edges as text.
class GroupChunkedTest : public GroupTest {
 protected:
  void SetUp() override {
    const graph::SourceGraph graph = Communities();
    const graph::EdgeSet& edges = graph.edges[0];
    const uint64_t num_nodes = graph.nodes[0].count, num_edges = edges.num_edges();
    for (const char* sub : {"edge_index", "node_data/node", "edge_data/node:to:node"}) {
      std::filesystem::create_directories(chunks_ + "/" + sub);
    }
    std::vector<float> features(num_nodes);
    for (size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i) / 8;
    std::vector<int64_t> order(num_edges);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(3 * i % 100);
    Write("node_data/node/feat-", Tensor::FromVector(std::move(features)), num_nodes / 3);
    Write("edge_data/node:to:node/order-", Tensor::FromVector(std::move(order)), num_edges / 2);
    for (const int chunk : {0, 1}) {
      std::ofstream text(chunks_ + "/edge_index/" + std::to_string(chunk) + ".txt");
      const int64_t end = chunk == 0 ? 100 : edges.sources.num_rows();
      for (int64_t row = int64_t{chunk} * 100; row < end; ++row) {
        text << edges.sources.ValueAsInt(row) << " " << edges.destinations.ValueAsInt(row) << "\n";
      }
    }
    std::ofstream(chunks_ + "/metadata.json")
        << R"({"graph_name": "chunks", "node_type": ["node"], "num_nodes_per_type": [)" << num_nodes
        << R"(], "edge_type": ["node:to:node"], "num_edges_per_type": [)" << num_edges << R"(],
          "edges": {"node:to:node": {"format": {"name": "csv", "delimiter": " "},
            "data": ["edge_index/0.txt", "edge_index/1.txt"]}},
          "node_data": {"node": {"feat": {"format": {"name": "numpy"},
            "data": ["node_data/node/feat-0.npy", "node_data/node/feat-1.npy"]}}},
          "edge_data": {"node:to:node": {"order": {"format": {"name": "numpy"},
            "data": ["edge_data/node:to:node/order-0.npy", "edge_data/node:to:node/order-1.npy"]}}}})";
    graph_.source = {.uri = chunks_, .format = job::GraphFormat::kDglChunked};
    graph_.partitions.count = 5;
    graph_.partitions.algorithm = job::PartitionAlgorithm::kStreaming;
  }

  void Write(const std::string& name, const Tensor& column, uint64_t first_chunk) {
    const auto num_rows = static_cast<uint64_t>(column.num_rows());
    ASSERT_EQ(format::WriteNpy(chunks_ + "/" + name + "0.npy", SliceRows(column, 0, first_chunk)), Status());
    ASSERT_EQ(format::WriteNpy(chunks_ + "/" + name + "1.npy", SliceRows(column, first_chunk, num_rows)), Status());
  }

  const std::string chunks_ = folder_.path() + "/chunks";
};

TEST_F(GroupChunkedTest, WritesTheBytesThatOneProcessWrites) {
  graph_.time_column = "order";
  graph_.preprocess.add_reverse_edges = true;
  graph_.preprocess.drop_duplicate_edges = true;
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_FALSE(outcome->reused);
    ExpectSame(outcome->manifest, alone->manifest);
  }
}

class GroupLifeTest : public GroupTest {
 protected:
  void SetUp() override {
    Use(Typed());
    CutBy({.name = "", .source = Typed, .algorithm = job::PartitionAlgorithm::kStreaming, .balance = {}});
  }
};

TEST_F(GroupLifeTest, KeepsTimeOrderAndSourceColumns) {
  graph_.time_column = "year";
  graph_.partitions.source_columns = {"label", "original_id"};
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    ExpectSame(outcome->manifest, alone->manifest);
  }
}

TEST_F(GroupLifeTest, ReusesExistingPartitioning) {
  ASSERT_TRUE(RunGroup(store_, 2)[0].ok());
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 2)) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_TRUE(outcome->reused);
  }
}

// Process 0 was killed after it committed the manifest and before it had deleted all leftovers.
TEST_F(GroupLifeTest, ReuseDeletesLeftoversOfGroup) {
  const auto made = RunGroup(store_, 2);
  ASSERT_TRUE(made[0].ok()) << made[0].status().ToString();
  const std::string prefix = "group/" + made[0]->partition_key + "/";
  const auto listed = [&] { return store_.List(prefix)->size(); };
  const size_t num_files = listed();
  const std::vector<std::optional<GroupOptions>> finders = {std::nullopt, Group(0, 2)};
  for (const std::optional<GroupOptions>& finder : finders) {
    for (const char* left : {"exchange/edges-from-00000-to-00000.safetensors", "group/markers/rank-0000/sent"}) {
      ASSERT_EQ(store_.PutIfAbsent(prefix + made[0]->manifest.attempt + "/" + left, {}), Status());
    }
    ASSERT_EQ(listed(), num_files + 2);
    const auto found = Run(store_, "group", finder);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_TRUE(found->reused);
    EXPECT_EQ(listed(), num_files);
  }
}

// Processes 0 and 1 of 3 wait for process 2 while a single process commits the partitioning and deletes their markers.
TEST_F(GroupLifeTest, OvertakenGroupUsesOtherPartitioning) {
  std::vector<Result<PartitionOutcome>> outcomes(2, Internal("has not run"));
  {
    std::vector<std::jthread> processes;
    for (const uint32_t rank : {0u, 1u}) {
      processes.emplace_back([&, rank] { outcomes[rank] = Run(store_, "group", Group(rank, 3)); });
    }
    const auto num_valid = [&] {
      const auto objects = *store_.List("group/");
      return std::count_if(objects.begin(), objects.end(), [](const auto& o) { return o.key.ends_with("/valid"); });
    };
    const Deadline patience = Deadline::After(seconds(30));
    while (num_valid() < 2 && !patience.HasPassed()) std::this_thread::yield();
    const auto winner = Run(store_, "group", std::nullopt);
    ASSERT_TRUE(winner.ok()) << winner.status().ToString();
    EXPECT_FALSE(winner->reused);
  }
  for (const Result<PartitionOutcome>& outcome : outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_TRUE(outcome->reused);
  }
  // Only the files of the partitioning are left: no published error of a process that waited in vain, and no markers.
  EXPECT_EQ(store_.List("group/")->size(), 1 + 4 * outcomes[0]->manifest.partitions.size());
}

// After a number of writes, all writes of process 1 fail, even that of its error, as if it had been killed. A restarted
// process resumes.
TEST_F(GroupLifeTest, KilledProcessMayRestart) {
  const auto alone = Run(store_, "alone", std::nullopt);
  ASSERT_TRUE(alone.ok()) << alone.status().ToString();
  for (const int64_t writes : {1, 5, 9, 14, 20, 30, 45, 70, 100}) {
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

TEST_F(GroupLifeTest, AllEndIfProcessIsMissing) {
  std::vector<Result<PartitionOutcome>> outcomes(2, Internal("has not run"));
  {
    std::vector<std::jthread> processes;
    for (const uint32_t rank : {0u, 2u}) {
      processes.emplace_back([&, rank] {
        GroupOptions group = Group(rank, 3);
        group.start_timeout = std::chrono::milliseconds(200);
        outcomes[rank / 2] = Run(store_, "group", group);
      });
    }
  }
  for (const Result<PartitionOutcome>& outcome : outcomes) {
    EXPECT_EQ(outcome.status().code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(outcome.status().message(), HasSubstr("rank 1 of 3 has sent no heartbeat yet"));
  }
}

// Only one process reads the bad edge, and all report the error that a single process reports.
TEST_F(GroupLifeTest, BadInputEndsAllWithOneReason) {
  Tensor destinations = Tensor::Zeros(DType::kU32, source_.edges[2].destinations.shape());
  destinations.mutable_values<uint32_t>()[123] = 5000;
  graph::SourceGraph bad = Typed();
  bad.edges[2].destinations = destinations;
  Use(bad);
  const Status alone = Run(store_, "alone", std::nullopt).status();
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 4)) {
    EXPECT_EQ(outcome.status().code(), alone.code());
    EXPECT_THAT(outcome.status().message(), AllOf(HasSubstr("123"), HasSubstr("5000")));
  }
  const auto again = Run(store_, "group", Group(0, 4));
  EXPECT_EQ(again.status().code(), alone.code());
  EXPECT_THAT(again.status().message(), HasSubstr("the group 'try-1' has ended"));
}

TEST_F(GroupLifeTest, EveryProcessReportsUnknownName) {
  const Status unknown = InvalidArgument("job.yaml:1:1: spec.graph.timeColumn: no edge type has it");
  check_names_ = [&](const GraphMetadata&) { return unknown; };
  for (const Result<PartitionOutcome>& outcome : RunGroup(store_, 3)) EXPECT_EQ(outcome.status(), unknown);
  EXPECT_EQ(Run(store_, "group", Group(1, 3)).status(), unknown);
}

// A share is a range of rows of all arrays of an edge list, so all arrays must have the same length.
TEST_F(GroupLifeTest, RefusesArraysOfOtherLengthsAsOneProcessDoes) {
  const auto rows = [](int64_t count) { return Tensor::Zeros(DType::kU64, {count}); };
  const auto num_edges = static_cast<int64_t>(source_.edges[2].num_edges());
  std::vector<std::pair<const char*, graph::SourceGraph>> graphs;
  const auto add = [&](const char* what, const auto& change) {
    graphs.emplace_back(what, Typed());
    change(graphs.back().second.edges[2]);
  };
  const DType ids = source_.edges[2].sources.dtype();
  add("shorter destinations", [&](auto& e) { e.destinations = Tensor::Zeros(ids, {num_edges - 9}); });
  add("longer destinations", [&](auto& e) { e.destinations = Tensor::Zeros(ids, {num_edges + 9}); });
  add("shorter original ids", [&](auto& e) { e.original_ids = rows(num_edges - 9); });
  add("longer original ids", [&](auto& e) { e.original_ids = rows(num_edges + 9); });
  add("original ids without rows", [&](auto& e) { e.original_ids = Tensor::Zeros(DType::kU64, {}); });
  for (const auto& [what, bad] : graphs) {
    Use(bad);
    storage::MemoryStore store;
    const Status alone = Run(store, "alone", std::nullopt).status();
    ASSERT_EQ(alone.code(), StatusCode::kInvalidArgument) << what;
    for (const Result<PartitionOutcome>& outcome : RunGroup(store, 3)) {
      EXPECT_EQ(outcome.status().code(), alone.code()) << what;
      EXPECT_THAT(outcome.status().message(), HasSubstr("expected")) << what;
    }
  }
}

TEST_F(GroupLifeTest, RefusesOptionsThatNeedWholeGraph) {
  const auto error = [&] { return Run(store_, "group", Group(0, 2)).status().ToString(); };
  for (const auto algorithm : {job::PartitionAlgorithm::kMetis, job::PartitionAlgorithm::kMultilevel}) {
    graph_.partitions.algorithm = algorithm;
    EXPECT_THAT(error(), AllOf(HasSubstr("INVALID_ARGUMENT"),
                               HasSubstr("METIS and Multilevel need the whole graph: use Streaming")));
  }
  graph_.partitions.algorithm = job::PartitionAlgorithm::kRandom;
  graph_.preprocess.add_reverse_edges = true;
  graph_.partitions.algorithm = job::PartitionAlgorithm::kStreaming;
  graph_.partitions.balance = {job::PartitionBalance::kEdges};
  EXPECT_THAT(error(), HasSubstr("omit Edges"));
}

// Data that is corrupted between the store and a process is detected, and no partitioning is made of it.
TEST_F(GroupLifeTest, DetectsDamagedBundles) {
  const BundlePlace place{.store = store_, .prefix = "p", .folder = "exchange"};
  TensorBundle tensors;
  tensors["numbers"] = Tensor::FromVector(std::vector<uint32_t>{1, 2, 3});
  const auto entry = WriteBundle(place, "b", tensors);
  ASSERT_TRUE(entry.ok()) << entry.status().ToString();
  const auto good = ReadBundle(place, *entry);
  ASSERT_TRUE(good.ok()) << good.status().ToString();
  EXPECT_THAT(good->at("numbers").values<uint32_t>(), ::testing::ElementsAre(1, 2, 3));
  EXPECT_TRUE(TakeTensor(*good, *entry, "numbers", DType::kU32, {3}).ok());
  EXPECT_EQ(TakeTensor(*good, *entry, "numbers", DType::kU64, {3}).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(TakeTensor(*good, *entry, "letters", DType::kU32, {3}).status().code(), StatusCode::kDataLoss);

  std::string bytes = *store_.Get("p/exchange/b.safetensors");
  bytes.back() ^= 1;
  ASSERT_EQ(store_.Delete("p/exchange/b.safetensors"), Status());
  ASSERT_EQ(store_.PutIfAbsent("p/exchange/b.safetensors", std::as_bytes(std::span(bytes))), Status());
  EXPECT_EQ(ReadBundle(place, *entry).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace espalier::partitioner
