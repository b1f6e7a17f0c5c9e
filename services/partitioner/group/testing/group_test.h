// Runs several processes of a group in tests. The processes are threads with a pipeline each, which share nothing but a
// store.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {

// One input of a group: a graph and the algorithm that cuts it.
struct GroupCase {
  const char* name;
  graph::SourceGraph (*source)();
  job::PartitionAlgorithm algorithm;
  std::vector<job::PartitionBalance> balance;
};

// Returns TypedGraph with an edge split.
inline graph::SourceGraph Typed() {
  graph::SourceGraph graph = partition::testing::TypedGraph(60, /*seed=*/5);
  graph.edge_splits["links"][2] = {.train = {.sources = {1, 5, 1}, .destinations = {2, 3, 2}},
                                   .validation = {.sources = {7}, .destinations = {0}},
                                   .test = {}};
  return graph;
}

class GroupTest : public ::testing::Test {
 protected:
  void Use(const graph::SourceGraph& source) {
    source_ = source;
    std::filesystem::remove_all(folder_.path() + "/source");
    ASSERT_EQ(format::WriteNpyFolder(source, folder_.path() + "/source"), Status());
    graph_.source = {.uri = folder_.path() + "/source", .format = job::GraphFormat::kNpy};
    graph_.partitions.count = 5;
    std::filesystem::create_directories(folder_.path() + "/assignment");
    for (size_t type = 0; type < source.nodes.size(); ++type) {
      std::vector<int32_t> owners(source.nodes[type].count);
      for (size_t i = 0; i < owners.size(); ++i) owners[i] = static_cast<int32_t>(i * i % 5);
      const std::string file = folder_.path() + "/assignment/" + source.schema.node_types()[type] + ".npy";
      ASSERT_EQ(format::WriteNpy(file, Tensor::FromVector(std::move(owners))), Status());
    }
  }

  void CutBy(const GroupCase& how) {
    graph_.partitions.algorithm = how.algorithm;
    graph_.partitions.balance = how.balance;
    const bool external = how.algorithm == job::PartitionAlgorithm::kExternal;
    graph_.partitions.assignment_uri = external ? folder_.path() + "/assignment" : "";
  }

  static GroupOptions Group(uint32_t rank, uint32_t size) {
    constexpr std::chrono::seconds kTimeout{30};
    return {.rank = rank, .size = size, .name = "try-1", .peer_timeout = kTimeout, .start_timeout = kTimeout};
  }

  // Runs the pipeline as one process of `group`, or alone if it is nullopt, and writes partitions below `output`.
  Result<PartitionOutcome> Run(storage::ObjectStore& store, const std::string& output,
                               std::optional<GroupOptions> group) {
    PartitionPipelineOptions options;
    options.threads = 2;
    options.group = std::move(group);
    options.held_out = held_out_;
    options.needs_split = needs_split_;
    options.check_names = check_names_;
    options.check_values = check_values_;
    options.access.open_store = [&](const std::string& uri) -> Result<storage::StoreLocation> {
      return storage::StoreLocation{std::shared_ptr<storage::ObjectStore>(&store, [](auto*) {}), uri};
    };
    return PartitionGraph(graph_, /*seed=*/1, output, nullptr, options);
  }

  std::vector<Result<PartitionOutcome>> RunGroup(storage::ObjectStore& store, uint32_t size) {
    std::vector<Result<PartitionOutcome>> outcomes(size, Internal("has not run"));
    std::vector<std::jthread> processes;
    for (uint32_t rank = 0; rank < size; ++rank) {
      processes.emplace_back([&, rank] { outcomes[rank] = Run(store, "group", Group(rank, size)); });
    }
    processes.clear();
    return outcomes;
  }

  void ExpectSame(const format::Manifest& made, const format::Manifest& expected) {
    EXPECT_EQ(made.partition_key, expected.partition_key);
    EXPECT_EQ(made.graph_name, expected.graph_name);
    EXPECT_EQ(made.algorithm, expected.algorithm);
    EXPECT_EQ(made.in_edge_order, expected.in_edge_order);
    EXPECT_EQ(made.source_columns, expected.source_columns);
    EXPECT_EQ(made.book, expected.book);
    EXPECT_EQ(made.node_columns, expected.node_columns);
    EXPECT_EQ(made.edge_columns, expected.edge_columns);
    EXPECT_EQ(made.splits, expected.splits);
    EXPECT_EQ(made.edge_splits, expected.edge_splits);
    EXPECT_EQ(made.quality, expected.quality);
    ASSERT_EQ(made.partitions.size(), expected.partitions.size());
    for (size_t p = 0; p < made.partitions.size(); ++p) {
      const format::PartitionEntry &a = made.partitions[p], &b = expected.partitions[p];
      EXPECT_EQ(a.graph.block_hashes, b.graph.block_hashes) << "partition " << p;
      EXPECT_EQ(a.node_columns.block_hashes, b.node_columns.block_hashes) << "partition " << p;
      EXPECT_EQ(a.edge_columns.block_hashes, b.edge_columns.block_hashes) << "partition " << p;
      EXPECT_EQ(a.original_edge_ids.block_hashes, b.original_edge_ids.block_hashes) << "partition " << p;
    }
  }

  const storage::TemporaryFolder folder_;
  storage::MemoryStore store_;
  graph::SourceGraph source_;
  job::Graph graph_;
  std::optional<graph::HeldOutEdges> held_out_;
  bool needs_split_ = true;
  std::function<Status(const GraphMetadata&names)> check_names_, check_values_;
};

}  // namespace espalier::partitioner
