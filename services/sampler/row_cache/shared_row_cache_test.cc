#include "services/sampler/row_cache/shared_row_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstring>
#include <thread>

#include "services/base/testing/soon.h"
#include "services/sampler/row_cache/scheduled_row_cache.h"

namespace espalier::sampler {
namespace {

constexpr NodeTypeId kSharedPaper(0), kSharedAuthor(1);
constexpr int64_t kSharedWidth = 33;  // floats of a paper's row: not a whole number of words
constexpr size_t kSharedPaperBytes = kSharedWidth * sizeof(float), kSharedAuthorBytes = sizeof(uint64_t);
constexpr size_t kPlentyOfSharedBytes = 1 << 20;
// The memory of three sets of four slots, all of papers: papers 0, 3, 6, ... have one set.
constexpr size_t kThreeSets = 2200;

graph::PartitionBook SharedBook(uint64_t num_papers = 1000) {
  const graph::GraphSchema schema = *graph::GraphSchema::Make({"paper", "author"}, {{"author", "writes", "paper"}});
  return *graph::PartitionBook::Make(schema, {{0, num_papers}, {0, 100}}, {{0, 0}});
}

std::vector<ColumnDescription> SharedColumns(int64_t width = kSharedWidth) {
  return {{kSharedPaper, "feature", DType::kF32, {width}}, {kSharedAuthor, kOriginalIdColumn, DType::kU64, {}}};
}

// A row whose bytes are all `value`.
std::vector<std::byte> FilledRow(size_t bytes, int value) { return {bytes, static_cast<std::byte>(value)}; }

class SharedRowCacheTest : public ::testing::Test {
 protected:
  void MakeMemory(uint64_t bytes) {
    auto created = SharedMemory::Create(bytes);
    ASSERT_TRUE(created.ok()) << created.status().ToString();
    descriptor_ = *std::move(created);
  }
  std::shared_ptr<SharedMemory> MapMemory() const {
    return *SharedMemory::Map(Descriptor(fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, 0)));
  }
  // Returns a cache with a mapping of its own.
  std::unique_ptr<SharedRowCache> Make() const {
    auto made = SharedRowCache::Make(MapMemory(), "key", SharedBook(), SharedColumns());
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? *std::move(made) : nullptr;
  }
  static bool Has(const SharedRowCache& cache, uint64_t paper, int value) {
    std::vector<std::byte> row(kSharedPaperBytes);
    return cache.Find(kSharedPaper, GlobalNodeId(paper), row) && row == FilledRow(kSharedPaperBytes, value);
  }
  // Returns the two words of the header of a node's slot, which must exist: the sequence number and the key.
  static uint64_t* FindHeader(const SharedMemory& memory, uint64_t node) {
    auto* const words = reinterpret_cast<uint64_t*>(memory.bytes().data());
    for (size_t i = 8; i + 1 < memory.bytes().size() / sizeof(uint64_t); i += 2) {
      if (words[i] == 2 && words[i + 1] == node + 1) return words + i;
    }
    return nullptr;
  }

  Descriptor descriptor_;
};

TEST_F(SharedRowCacheTest, FindsRowsThatAnotherProcessHasPublished) {
  MakeMemory(kPlentyOfSharedBytes);
  const auto cache = Make();
  const pid_t child = fork();
  if (child == 0) {
    const auto of_child = Make();
    of_child->Publish(kSharedPaper, GlobalNodeId(0), FilledRow(kSharedPaperBytes, 1));
    of_child->Publish(kSharedPaper, GlobalNodeId(999), FilledRow(kSharedPaperBytes, 2));
    of_child->Publish(kSharedAuthor, GlobalNodeId(0), FilledRow(kSharedAuthorBytes, 3));
    _exit(0);
  }
  int state = -1;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  ASSERT_EQ(state, 0);
  EXPECT_TRUE(Has(*cache, 0, 1));
  EXPECT_TRUE(Has(*cache, 999, 2));
  std::vector<std::byte> author(kSharedAuthorBytes);
  EXPECT_TRUE(cache->Find(kSharedAuthor, GlobalNodeId(0), author));
  EXPECT_EQ(author, FilledRow(kSharedAuthorBytes, 3));
  EXPECT_FALSE(Has(*cache, 1, 0));
  EXPECT_FALSE(cache->Find(kSharedAuthor, GlobalNodeId(1), author));
  EXPECT_GT(cache->AllocatedBytes(), 0u);
}

TEST_F(SharedRowCacheTest, HoldsAllRowsIfTheMemorySuffices) {
  MakeMemory(kPlentyOfSharedBytes);
  const auto cache = Make();
  for (int node = 0; node < 1000; ++node)
    cache->Publish(kSharedPaper, GlobalNodeId(node), FilledRow(kSharedPaperBytes, node % 256));
  for (int node = 0; node < 1000; ++node) EXPECT_TRUE(Has(*cache, node, node % 256)) << node;
}

TEST_F(SharedRowCacheTest, ReplacesTheRowThatWasWrittenFirst) {
  MakeMemory(kThreeSets);
  const auto cache = Make();
  for (const int node : {0, 3, 6, 9})
    cache->Publish(kSharedPaper, GlobalNodeId(node), FilledRow(kSharedPaperBytes, node));
  for (const int node : {0, 3, 6, 9}) EXPECT_TRUE(Has(*cache, node, node)) << node;
  cache->Publish(kSharedPaper, GlobalNodeId(3), FilledRow(kSharedPaperBytes, 3));  // is there
  cache->Publish(kSharedPaper, GlobalNodeId(12), FilledRow(kSharedPaperBytes, 12));
  cache->Publish(kSharedPaper, GlobalNodeId(15), FilledRow(kSharedPaperBytes, 15));
  for (const int node : {6, 9, 12, 15}) EXPECT_TRUE(Has(*cache, node, node)) << node;
  for (const int node : {0, 3}) EXPECT_FALSE(Has(*cache, node, node)) << node;
}

TEST_F(SharedRowCacheTest, StaysEmptyIfTheMemoryIsTooSmall) {
  for (const uint64_t bytes : {1, 8, 64, 100, 500}) {
    MakeMemory(bytes);
    const auto cache = Make();
    ASSERT_NE(cache, nullptr) << bytes;
    cache->Publish(kSharedPaper, GlobalNodeId(5), FilledRow(kSharedPaperBytes, 5));
    EXPECT_FALSE(Has(*cache, 5, 5)) << bytes;
  }
}

TEST_F(SharedRowCacheTest, RefusesMemoryOfOtherRows) {
  MakeMemory(kPlentyOfSharedBytes);
  const auto cache = Make();
  for (const auto& other :
       {SharedRowCache::Make(MapMemory(), "another key", SharedBook(), SharedColumns()).status(),
        SharedRowCache::Make(MapMemory(), "key", SharedBook(1001), SharedColumns()).status(),
        SharedRowCache::Make(MapMemory(), "key", SharedBook(), SharedColumns(kSharedWidth + 1)).status()}) {
    EXPECT_EQ(other.code(), StatusCode::kFailedPrecondition);
    EXPECT_TRUE(other.message().starts_with(
        "the shared memory for feature rows has rows of another graph or of other columns (key "))
        << other.message();
    EXPECT_TRUE(other.message().ends_with("): use one shared memory for each run")) << other.message();
  }
}

// A process that is killed while it writes leaves an odd sequence number.
TEST_F(SharedRowCacheTest, LeavesOutSlotsOfAProcessThatWasKilledWhileItWrote) {
  MakeMemory(kThreeSets);
  const auto cache = Make();
  for (const int node : {0, 3, 6, 9})
    cache->Publish(kSharedPaper, GlobalNodeId(node), FilledRow(kSharedPaperBytes, node));
  const std::shared_ptr<SharedMemory> memory = MapMemory();
  uint64_t* const header = FindHeader(*memory, 3);
  ASSERT_NE(header, nullptr);
  ++header[0];
  EXPECT_FALSE(Has(*cache, 3, 3));
  // The row may be stored again in another slot, and the other slots are replaced as before.
  cache->Publish(kSharedPaper, GlobalNodeId(3), FilledRow(kSharedPaperBytes, 3));
  EXPECT_TRUE(Has(*cache, 3, 3));
  EXPECT_FALSE(Has(*cache, 0, 0));
  for (int node = 12; node < 60; node += 3) {
    cache->Publish(kSharedPaper, GlobalNodeId(node), FilledRow(kSharedPaperBytes, node));
    EXPECT_TRUE(Has(*cache, node, node)) << node;
  }
  EXPECT_EQ(header[0], 3u);
  for (const int way : {0, 1, 2, 3}) (header - 2)[2 * way] |= 1;
  cache->Publish(kSharedPaper, GlobalNodeId(60), FilledRow(kSharedPaperBytes, 60));
  EXPECT_FALSE(Has(*cache, 60, 60));
}

// Publishes rows of a few nodes until `reads` reads have been made, and counts rows whose bytes are not all equal. Rows
// are immutable, but writers write different bytes here, so that a mix of two writes would be noticed.
int CountTornRows(SharedRowCache& cache, int writer, int reads, int* found) {
  int torn = 0;
  std::vector<std::byte> row(kSharedPaperBytes);
  for (int i = 0; i < reads; ++i) {
    cache.Publish(kSharedPaper, GlobalNodeId(static_cast<uint64_t>(i * 7 + writer) % 24),
                  FilledRow(kSharedPaperBytes, writer));
    if (!cache.Find(kSharedPaper, GlobalNodeId(static_cast<uint64_t>(i) % 24), row)) continue;
    ++*found;
    torn += row == FilledRow(kSharedPaperBytes, static_cast<int>(row[0])) ? 0 : 1;
  }
  return torn;
}

TEST_F(SharedRowCacheTest, ThreadsNeverReadAMixOfTwoRows) {
  MakeMemory(kThreeSets);
  constexpr int kThreads = 4;
  std::vector<int> torn(kThreads), found(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { torn[t] = CountTornRows(*Make(), t + 1, 20000, &found[t]); });
    }
  }
  EXPECT_EQ(torn, std::vector<int>(kThreads));
  for (const int count : found) EXPECT_GT(count, 0);
}

// The writers are killed at any point of a write.
TEST_F(SharedRowCacheTest, ProcessesNeverReadAMixOfTwoRows) {
  MakeMemory(kThreeSets);
  const auto cache = Make();
  std::vector<pid_t> writers;
  for (int writer = 2; writer < 5; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto of_child = Make();
      int found = 0;
      while (CountTornRows(*of_child, writer, 1000, &found) == 0) {
      }
      _exit(1);
    }
    writers.push_back(child);
  }
  int found = 0;
  EXPECT_EQ(CountTornRows(*cache, 1, 50000, &found), 0);
  EXPECT_GT(found, 0);
  for (const pid_t writer : writers) {
    kill(writer, SIGKILL);
    int state = -1;
    ASSERT_EQ(waitpid(writer, &state, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(state)) << "a writer has read a mix of two rows";
  }
}

// The rows of two partitions, of which the second is remote. Counts the requested rows.
class OneRemote final : public RowSource {
 public:
  uint64_t requested = 0;

  const std::vector<ColumnDescription>& columns() const override { return columns_; }
  bool is_remote(PartitionId partition) const override { return partition == PartitionId(1); }
  Result<Tensor> GatherRows(NodeTypeId, const std::string&, std::span<const GlobalNodeId> nodes, Deadline) override {
    Tensor rows = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(nodes.size()), int64_t{kSharedWidth}});
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].value >= 4) ++requested;
      std::memset(rows.mutable_bytes() + i * kSharedPaperBytes, static_cast<int>(nodes[i].value + 1),
                  kSharedPaperBytes);
    }
    return rows;
  }

 private:
  const std::vector<ColumnDescription> columns_ = {{kSharedPaper, "feature", DType::kF32, {kSharedWidth}}};
};

// Two caches of one graph behave like two trainers of a machine.
class SharingCachesTest : public SharedRowCacheTest {
 protected:
  struct Trainer {
    OneRemote source;
    std::unique_ptr<ScheduledRowCache> cache;
  };

  void Start(Trainer& trainer) const {
    auto shared = SharedRowCache::Make(MapMemory(), "key", book_, trainer.source.columns());
    ASSERT_TRUE(shared.ok()) << shared.status().ToString();
    trainer.cache = std::make_unique<ScheduledRowCache>(trainer.source, book_, trainer.source.columns(),
                                                        kPlentyOfSharedBytes, *std::move(shared));
  }
  static void Step(Trainer& trainer, const std::vector<uint64_t>& ids) {
    std::vector<std::vector<GlobalNodeId>> nodes(2);
    for (const uint64_t id : ids) nodes[0].push_back(GlobalNodeId(id));
    trainer.cache->Schedule(nodes);
    trainer.cache->BeginStep(nodes);
    const Result<Tensor> rows = trainer.cache->GatherRows(kSharedPaper, "feature", nodes[0], Soon());
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::vector<std::byte> row(rows->bytes() + i * kSharedPaperBytes,
                                       rows->bytes() + (i + 1) * kSharedPaperBytes);
      EXPECT_EQ(row, FilledRow(kSharedPaperBytes, static_cast<int>(ids[i] + 1))) << ids[i];
    }
    trainer.cache->EndStep();
  }

  const graph::PartitionBook book_ =
      *graph::PartitionBook::Make(*graph::GraphSchema::Make({"paper", "author"}, {{"author", "writes", "paper"}}),
                                  {{0, 4, 20}, {0, 0, 0}}, {{0, 0, 0}});
};

TEST_F(SharingCachesTest, ARowIsRequestedByOneOfThem) {
  MakeMemory(kPlentyOfSharedBytes);
  Trainer first, second;
  Start(first);
  Start(second);
  Step(first, {1, 5, 6, 5});
  Step(second, {6, 2, 5, 7, 6});
  EXPECT_EQ(first.source.requested, 2u);
  EXPECT_EQ(second.source.requested, 1u);
  Step(second, {5, 6, 7});  // kept by its own cache
  Step(first, {7});
  EXPECT_EQ(first.source.requested, 2u);
  EXPECT_EQ(second.source.requested, 1u);
  const RowCacheCounts& of_first = first.cache->counts();
  EXPECT_EQ(of_first.hit_rows, 0u);
  EXPECT_EQ(of_first.shared_rows, 1u);
  EXPECT_EQ(of_first.shared_bytes, kSharedPaperBytes);
  EXPECT_EQ(of_first.fetched_rows, 2u);
  EXPECT_EQ(of_first.fetched_bytes, 2 * kSharedPaperBytes);
  const RowCacheCounts& of_second = second.cache->counts();
  EXPECT_EQ(of_second.hit_rows, 3u);
  EXPECT_EQ(of_second.shared_rows, 2u);
  EXPECT_EQ(of_second.fetched_rows, 1u);
  EXPECT_GT(second.cache->shared_memory_bytes(), 0u);
  EXPECT_EQ(second.cache->num_cached_rows(), 3u);
}

}  // namespace
}  // namespace espalier::sampler
