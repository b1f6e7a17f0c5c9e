#include "services/sampler/row_cache/scheduled_row_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "services/base/philox.h"
#include "services/base/testing/soon.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Nodes = std::vector<std::vector<GlobalNodeId>>;  // by node type

constexpr uint64_t kNodes = 12;  // of each type; partition 0 owns the first 4, partition 1 the others

std::vector<GlobalNodeId> Ids(const std::vector<uint64_t>& ids) {
  std::vector<GlobalNodeId> nodes;
  for (const uint64_t id : ids) nodes.push_back(GlobalNodeId(id));
  return nodes;
}

graph::PartitionBook Book(uint64_t num_papers = kNodes) {
  const graph::GraphSchema schema = *graph::GraphSchema::Make({"paper", "author"}, {{"author", "writes", "paper"}});
  return *graph::PartitionBook::Make(schema, {{0, 4, num_papers}, {0, 4, kNodes}}, {{0, 0, 0}});
}

// Rows of two partitions, of which the second is remote. A row's bytes follow from its type, column and node.
class TwoPartitions final : public RowSource {
 public:
  explicit TwoPartitions(int64_t width) {
    for (const uint16_t type : {0, 1}) {
      columns_.push_back({NodeTypeId(type), "feature", DType::kF32, {width * (type + 1)}});
      columns_.push_back({NodeTypeId(type), kOriginalIdColumn, DType::kU64, {}});
    }
  }

  // Ids whose "feature" was read, in the order of the requests.
  std::vector<uint64_t> asked;
  Status error;  // of reads of original ids
  bool maps_all = false;

  const std::vector<ColumnDescription>& columns() const override { return columns_; }
  bool is_remote(PartitionId partition) const override { return partition == PartitionId(1) && !maps_all; }
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline) override {
    if (column == kOriginalIdColumn) RETURN_IF_ERROR(error);
    for (const GlobalNodeId node : nodes) {
      if (column == "feature") asked.push_back(node.value);
    }
    return Rows(type, column, nodes);
  }

  Tensor Rows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes) const {
    const auto described = std::find_if(columns_.begin(), columns_.end(), [&](const ColumnDescription& one) {
      return one.node_type == type && one.name == column;
    });
    std::vector<int64_t> shape = {static_cast<int64_t>(nodes.size())};
    shape.insert(shape.end(), described->row_shape.begin(), described->row_shape.end());
    Tensor rows = Tensor::Zeros(described->dtype, shape);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto value = static_cast<int>(1 + nodes[i].value + 16 * type.value + 32 * (column == "feature"));
      std::memset(rows.mutable_bytes() + i * rows.row_bytes(), value, rows.row_bytes());
    }
    return rows;
  }

 private:
  std::vector<ColumnDescription> columns_;
};

void ExpectSame(const Tensor& rows, const Tensor& expected) {
  EXPECT_EQ(rows.ToString(), expected.ToString());
  EXPECT_EQ(std::memcmp(rows.bytes(), expected.bytes(), expected.size_bytes()), 0);
}

class ScheduledRowCacheTest : public ::testing::Test {
 protected:
  // Rows are so wide that the memory of the index is small compared with a row.
  static constexpr int64_t kWidth = 16384;
  static constexpr uint64_t kRowBytes = kWidth * sizeof(float);
  // Returns the memory that this many rows of type 0 and the index need.
  static uint64_t MemoryFor(uint64_t num_rows) { return num_rows * (kRowBytes + 128) + kRowBytes / 2; }

  // Runs the next step, which reads these nodes, and compares every column.
  static void RunStep(ScheduledRowCache& cache, const TwoPartitions& source, const Nodes& nodes,
                      bool reads_all = true) {
    cache.BeginStep(nodes, reads_all);
    for (const ColumnDescription& column : source.columns()) {
      const std::vector<GlobalNodeId>& of_type = nodes[column.node_type.value];
      const Result<Tensor> rows = cache.GatherRows(column.node_type, column.name, of_type, Soon());
      ASSERT_TRUE(rows.ok()) << rows.status().ToString();
      ExpectSame(*rows, source.Rows(column.node_type, column.name, of_type));
    }
    cache.EndStep();
  }
  // Runs steps of type 0, each of which is scheduled `ahead` steps before. Returns the ids that were asked for.
  std::vector<uint64_t> RunSteps(const std::vector<std::vector<uint64_t>>& steps, size_t ahead, uint64_t num_rows) {
    TwoPartitions source(kWidth);
    ScheduledRowCache cache(source, book_, source.columns(), MemoryFor(num_rows));
    size_t num_scheduled = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
      for (; num_scheduled <= step + ahead && num_scheduled < steps.size(); ++num_scheduled) {
        cache.Schedule({Ids(steps[num_scheduled]), {}});
      }
      RunStep(cache, source, {Ids(steps[step]), {}});
      EXPECT_LE(cache.held_bytes(), MemoryFor(num_rows));
      EXPECT_LE(cache.num_cached_rows(), num_rows);
    }
    EXPECT_EQ(cache.counts().fetched_rows, source.asked.size());
    return source.asked;
  }

  const graph::PartitionBook book_ = Book();
};

TEST_F(ScheduledRowCacheTest, FetchesARowThatALaterStepReadsOnce) {
  EXPECT_THAT(RunSteps({{5, 6}, {7}, {6, 5}}, 2, 4), ElementsAre(5, 6, 7));
}

TEST_F(ScheduledRowCacheTest, KeepsTheRowsThatAreReadSoonest) {
  EXPECT_THAT(RunSteps({{5, 6, 7}, {7}, {5}, {6}}, 3, 2), ElementsAre(5, 6, 7, 6));
}

// Of the rows that no known step reads, 5 was read most often.
TEST_F(ScheduledRowCacheTest, KeepsTheMostUsedOfTheRowsThatNoKnownStepReads) {
  EXPECT_THAT(RunSteps({{5, 6}, {5}, {7}, {8}, {5}}, 0, 2), ElementsAre(5, 6, 7, 8));
}

// Returns the fewest fetches for which a cache of `num_rows` rows suffices, by trying all sets of rows to keep.
int FewestFetches(const std::vector<std::vector<uint64_t>>& steps, int num_rows) {
  std::map<uint32_t, int> fetches = {{0u, 0}};  // by the set of cached rows
  for (const std::vector<uint64_t>& step : steps) {
    uint32_t read = 0;
    for (const uint64_t id : step) read |= 1u << id;
    std::map<uint32_t, int> next;
    for (const auto& [cached, so_far] : fetches) {
      const int after = so_far + __builtin_popcount(read & ~cached);
      const uint32_t all = cached | read;
      for (uint32_t kept = all;; kept = (kept - 1) & all) {
        if (__builtin_popcount(kept) <= num_rows) {
          const auto [found, is_new] = next.try_emplace(kept, after);
          if (!is_new) found->second = std::min(found->second, after);
        }
        if (kept == 0) break;
      }
    }
    fetches = std::move(next);
  }
  int fewest = std::numeric_limits<int>::max();
  for (const auto& [cached, count] : fetches) fewest = std::min(fewest, count);
  return fewest;
}

TEST_F(ScheduledRowCacheTest, FetchesTheFewestRowsIfAllStepsAreKnown) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    PhiloxStream random(seed, 0);
    std::vector<std::vector<uint64_t>> steps(9);
    for (std::vector<uint64_t>& step : steps) {
      std::set<uint64_t> ids;
      const uint64_t size = 1 + random.NextBelow(3);
      while (ids.size() < size) ids.insert(4 + random.NextBelow(6));
      step.assign(ids.begin(), ids.end());
    }
    for (const int num_rows : {1, 2, 3}) {
      const auto asked = RunSteps(steps, steps.size(), static_cast<uint64_t>(num_rows));
      EXPECT_EQ(asked.size(), static_cast<size_t>(FewestFetches(steps, num_rows))) << "seed " << seed;
    }
  }
}

// Two node types with rows of different sizes, repeated nodes, and various schedule lengths and memory limits.
TEST_F(ScheduledRowCacheTest, ReturnsTheRowsOfTheGraphAndStaysWithinItsMemory) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PhiloxStream random(seed, 1);
    TwoPartitions source(8);
    const uint64_t memory_bytes = 8000 + 500 * random.NextBelow(10);
    const size_t ahead = random.NextBelow(12);
    ScheduledRowCache cache(source, book_, source.columns(), memory_bytes);
    std::vector<Nodes> steps(40, Nodes(2));
    for (Nodes& step : steps) {
      for (std::vector<GlobalNodeId>& nodes : step) {
        nodes.resize(random.NextBelow(8));
        for (GlobalNodeId& node : nodes) node = GlobalNodeId(random.NextBelow(kNodes));
      }
    }
    size_t num_scheduled = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
      for (; num_scheduled <= step + ahead && num_scheduled < steps.size(); ++num_scheduled) {
        if (!cache.HasRoomForStep()) break;
        cache.Schedule(steps[num_scheduled]);
      }
      RunStep(cache, source, steps[step]);
      EXPECT_LE(cache.held_bytes(), memory_bytes);
    }
    EXPECT_GT(cache.counts().fetched_rows, 0u);
  }
}

// Rows are stored and evicted many times, and each map has another hash seed.
TEST_F(ScheduledRowCacheTest, CountsTheSameInEachRun) {
  const graph::PartitionBook book = Book(/*num_papers=*/20'000);
  std::set<uint64_t> fetched_rows, held_bytes;
  for (int run = 0; run < 4; ++run) {
    TwoPartitions source(8);
    ScheduledRowCache cache(source, book, source.columns(), /*memory_bytes=*/410'000);
    PhiloxStream random(7, 0);
    std::deque<Nodes> waiting;
    for (int step = 0; step < 300; ++step) {
      if (step == 150) {
        cache.AbandonSteps();
        waiting.clear();
      }
      while (waiting.size() < 4 && cache.HasRoomForStep()) {
        Nodes& nodes = waiting.emplace_back(2);
        for (int i = 0; i < 60; ++i) nodes[0].push_back(GlobalNodeId(random.NextBelow(1 + random.NextBelow(20'000))));
        cache.Schedule(nodes);
      }
      RunStep(cache, source, waiting.front());
      waiting.pop_front();
    }
    EXPECT_GT(cache.counts().hit_rows, 0u);
    fetched_rows.insert(cache.counts().fetched_rows);
    held_bytes.insert(cache.held_bytes());
  }
  EXPECT_EQ(fetched_rows.size(), 1u);
  EXPECT_EQ(held_bytes.size(), 1u);
}

TEST_F(ScheduledRowCacheTest, CountsRowsAndBytesOfCachedColumns) {
  TwoPartitions source(4);
  ScheduledRowCache cache(source, book_, source.columns(), 1 << 20);
  const Nodes nodes = {Ids({1, 5, 6, 5}), Ids({7})};
  for (int step = 0; step < 2; ++step) cache.Schedule(nodes);
  for (int step = 0; step < 2; ++step) RunStep(cache, source, nodes);
  const uint64_t paper_bytes = 4 * 4 + 8, author_bytes = 8 * 4 + 8;
  EXPECT_EQ(cache.counts().fetched_rows, 3u);
  EXPECT_EQ(cache.counts().fetched_bytes, 2 * paper_bytes + author_bytes);
  EXPECT_EQ(cache.counts().hit_rows, 3u);
  EXPECT_EQ(cache.counts().hit_bytes, 2 * paper_bytes + author_bytes);
  EXPECT_EQ(cache.num_cached_rows(), 3u);
  EXPECT_THAT(source.asked, ElementsAre(1, 5, 6, 7, 1));
}

TEST_F(ScheduledRowCacheTest, KeepsNoRowsOfMappedPartitions) {
  TwoPartitions source(4);
  source.maps_all = true;
  EXPECT_FALSE(HasRemoteRows(source, book_));
  ScheduledRowCache cache(source, book_, source.columns(), 1 << 20);
  const Nodes nodes = {Ids({1, 5}), {}};
  for (int step = 0; step < 2; ++step) cache.Schedule(nodes);
  for (int step = 0; step < 2; ++step) RunStep(cache, source, nodes);
  EXPECT_THAT(source.asked, ElementsAre(1, 5, 1, 5));
  EXPECT_EQ(cache.num_cached_rows(), 0u);
  EXPECT_EQ(cache.counts().fetched_rows, 0u);
}

TEST_F(ScheduledRowCacheTest, FailedStepChangesNothingAndMayRepeat) {
  TwoPartitions source(4);
  ScheduledRowCache cache(source, book_, source.columns(), 1 << 20);
  const Nodes first = {Ids({5, 6}), {}}, second = {Ids({6, 7}), {}};
  cache.Schedule(first);
  cache.Schedule(second);
  RunStep(cache, source, first);
  const uint64_t held_bytes = cache.held_bytes();

  source.error = Unavailable("partition 1: connection refused");
  cache.BeginStep(second);
  ASSERT_TRUE(cache.GatherRows(NodeTypeId(0), "feature", second[0], Soon()).ok());
  EXPECT_EQ(cache.GatherRows(NodeTypeId(0), kOriginalIdColumn, second[0], Soon()).status(), source.error);
  EXPECT_EQ(cache.held_bytes(), held_bytes);

  source.error = Status();
  source.asked.clear();
  RunStep(cache, source, second);
  EXPECT_THAT(source.asked, ElementsAre(7));
}

TEST_F(ScheduledRowCacheTest, KeepsItsRowsAfterStepsAreAbandoned) {
  TwoPartitions source(4);
  ScheduledRowCache cache(source, book_, source.columns(), 1 << 20);
  const Nodes first = {Ids({5, 6}), {}}, second = {Ids({6, 7}), {}}, third = {Ids({8, 6, 5}), {}};
  for (const Nodes& nodes : {first, second, third}) cache.Schedule(nodes);
  RunStep(cache, source, first);
  cache.BeginStep(second);
  ASSERT_TRUE(cache.GatherRows(NodeTypeId(0), "feature", second[0], Soon()).ok());
  const uint64_t held_bytes = cache.held_bytes();
  cache.AbandonSteps();
  EXPECT_LT(cache.held_bytes(), held_bytes);  // without the known steps
  EXPECT_EQ(cache.num_cached_rows(), 2u);

  source.asked.clear();
  cache.Schedule(third);
  RunStep(cache, source, third);
  EXPECT_THAT(source.asked, ElementsAre(8));
}

// Of the rows that an abandoned step would have read, the one that was read most often is kept.
TEST_F(ScheduledRowCacheTest, AbandonedStepsDoNotKeepRows) {
  TwoPartitions source(kWidth);
  ScheduledRowCache cache(source, book_, source.columns(), MemoryFor(2));
  const std::vector<Nodes> steps = {{Ids({5, 6}), {}}, {Ids({5}), {}}, {Ids({6}), {}}};
  for (const Nodes& nodes : steps) cache.Schedule(nodes);
  RunStep(cache, source, steps[0]);
  RunStep(cache, source, steps[1]);
  cache.AbandonSteps();
  const std::vector<Nodes> others = {{Ids({7}), {}}, {Ids({7, 5}), {}}};
  source.asked.clear();
  for (const Nodes& nodes : others) cache.Schedule(nodes);
  for (const Nodes& nodes : others) RunStep(cache, source, nodes);
  EXPECT_THAT(source.asked, ElementsAre(7));
}

TEST_F(ScheduledRowCacheTest, ForwardsOtherReads) {
  TwoPartitions source(4);
  ScheduledRowCache cache(source, book_, {source.columns()[0]}, 1 << 20);
  const Nodes nodes = {Ids({5}), {}};
  cache.Schedule(nodes);
  cache.Schedule(nodes);
  const auto read = [&](const std::string& column, const std::vector<GlobalNodeId>& of_nodes) {
    const Result<Tensor> rows = cache.GatherRows(NodeTypeId(0), column, of_nodes, Soon());
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    ExpectSame(*rows, source.Rows(NodeTypeId(0), column, of_nodes));
  };
  for (int step = 0; step < 2; ++step) {
    cache.BeginStep(nodes);
    read("feature", nodes[0]);
    cache.EndStep();
  }
  EXPECT_THAT(source.asked, ElementsAre(5));
  const std::vector<GlobalNodeId> others = Ids({5});
  read("feature", others);
  EXPECT_THAT(source.asked, ElementsAre(5, 5));
  read(kOriginalIdColumn, others);
}

// The second step does not read 6, which is cached, and 7, which is not.
TEST_F(ScheduledRowCacheTest, AStepMayReadSomeOfItsNodes) {
  TwoPartitions source(4);
  ScheduledRowCache cache(source, book_, source.columns(), 1 << 20);
  const std::vector<Nodes> steps = {{Ids({5, 6}), {}}, {Ids({1, 5, 6, 7, 8}), {}}, {Ids({8, 7, 6, 5}), {}}};
  for (const Nodes& nodes : steps) cache.Schedule(nodes);
  RunStep(cache, source, steps[0]);
  source.asked.clear();
  RunStep(cache, source, {Ids({1, 5, 8}), {}}, /*reads_all=*/false);
  EXPECT_THAT(source.asked, ElementsAre(1, 8));
  RunStep(cache, source, steps[2]);
  EXPECT_THAT(source.asked, ElementsAre(1, 8, 7));
}

TEST_F(ScheduledRowCacheTest, HoldsNoRowsIfOneStepsIndexFillsItsMemory) {
  TwoPartitions source(4);
  ScheduledRowCache cache(source, book_, source.columns(), 1);
  const Nodes nodes = {Ids({5, 6, 7}), {}};
  EXPECT_TRUE(cache.HasRoomForStep());
  cache.Schedule(nodes);
  EXPECT_FALSE(cache.HasRoomForStep());
  RunStep(cache, source, nodes);
  EXPECT_EQ(cache.num_cached_rows(), 0u);
  EXPECT_TRUE(cache.HasRoomForStep());
}

}  // namespace
}  // namespace espalier::sampler
