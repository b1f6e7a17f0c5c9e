#include "services/storage/cache/block_download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "services/base/failpoint.h"
#include "services/base/hash.h"
#include "services/base/mutex.h"
#include "services/base/testing/no_more_threads.h"
#include "services/base/testing/soon.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/hooked_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBlockBytes = 100;
constexpr int kNumBlocks = 11;  // the last one is shorter

// An object "graph" of 1050 bytes, and how it is downloaded.
class BlockDownloadTest : public ::testing::TestWithParam<bool> {
 protected:
  BlockDownloadTest() {
    for (size_t i = 0; i < 1050; ++i) text_ += static_cast<char>('a' + HashCombine(7, i) % 26);
    for (size_t at = 0; at < text_.size(); at += kBlockBytes) hashes_.push_back(Hash64(text_.substr(at, kBlockBytes)));
    EXPECT_TRUE(PutText(memory_, "graph", text_).ok());
    options_.parallel_requests = 3;
  }
  ~BlockDownloadTest() override { EXPECT_TRUE(ArmFailpoints("").ok()); }

  // The hashes are known or unknown, depending on the test's parameter.
  BlockDownload Download() const {
    BlockDownload download{.key = "graph", .size_bytes = text_.size(), .block_bytes = kBlockBytes, .block_hashes = {}};
    if (GetParam()) download.block_hashes = hashes_;
    return download;
  }

  // Downloads into the entry "e" of a cache in folder_.
  Result<std::string> Fetch(ObjectStore& store, const BlockDownload& download) {
    ASSIGN_OR_RETURN(const LocalCache cache, LocalCache::Open({.folder = folder_.path()}));
    ASSIGN_OR_RETURN(const auto entry, cache.Pin("e", Soon()));
    const CachedFileRequest request{.name = "graph",
                                    .size_bytes = download.size_bytes,
                                    .journal_bytes = JournalBytes(download),
                                    .is_good = nullptr,
                                    .fill = [&](const PartialFile& partial) -> Status {
                                      ASSIGN_OR_RETURN(report_, DownloadBlocks(store, download, partial, options_));
                                      return Status();
                                    }};
    return entry->GetOrMake(request, Soon());
  }

  static std::string Contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  bool IsThereUnderItsName() const { return std::filesystem::exists(folder_.path() + "/e/graph"); }

  const TemporaryFolder folder_;
  std::string text_;
  std::vector<uint64_t> hashes_;
  MemoryStore memory_;
  DownloadOptions options_;
  DownloadReport report_;
};

TEST_P(BlockDownloadTest, DownloadsBytes) {
  std::vector<uint64_t> progress;
  options_.progress = [&](uint64_t present, uint64_t size) {
    EXPECT_EQ(size, text_.size());
    progress.push_back(present);
  };
  for (options_.parallel_requests = 1; options_.parallel_requests <= 20; options_.parallel_requests += 19) {
    const auto path = Fetch(memory_, Download());
    ASSERT_TRUE(path.ok()) << path.status().ToString();
    EXPECT_EQ(Contents(*path), text_);
    EXPECT_EQ(report_.fetched_bytes, text_.size());
    EXPECT_EQ(progress.back(), text_.size());
    std::filesystem::remove(*path);
  }
}

TEST_P(BlockDownloadTest, ResumesWithoutRefetchingBlocks) {
  options_.parallel_requests = 1;
  for (int broken_after = 1; broken_after <= kNumBlocks; ++broken_after) {
    int reads = 0;
    HookedStore counting(memory_, [&](const std::string&, ByteRange, std::span<std::byte>) {
      ++reads;
      return Status();
    });
    ASSERT_TRUE(ArmFailpoints("download.block=error:UNAVAILABLE@" + std::to_string(broken_after)).ok());
    EXPECT_EQ(Fetch(counting, Download()).status().code(), StatusCode::kUnavailable);
    EXPECT_FALSE(IsThereUnderItsName());
    EXPECT_EQ(reads, broken_after);

    ASSERT_TRUE(ArmFailpoints("").ok());
    const auto path = Fetch(counting, Download());
    ASSERT_TRUE(path.ok()) << path.status().ToString();
    EXPECT_EQ(Contents(*path), text_);
    EXPECT_EQ(reads, kNumBlocks);
    EXPECT_EQ(report_.kept_bytes, std::min<uint64_t>(text_.size(), broken_after * kBlockBytes));
    std::filesystem::remove(*path);
  }
}

TEST_P(BlockDownloadTest, SurvivesACrashBeforeTheRename) {
  ASSERT_TRUE(ArmFailpoints("download.before_rename=error:ABORTED").ok());
  EXPECT_EQ(Fetch(memory_, Download()).status().code(), StatusCode::kAborted);
  EXPECT_FALSE(IsThereUnderItsName());
  ASSERT_TRUE(ArmFailpoints("").ok());
  const auto path = Fetch(memory_, Download());
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(Contents(*path), text_);
}

TEST_P(BlockDownloadTest, VerifiesBlocksOfInterruptedDownload) {
  options_.parallel_requests = 1;
  ASSERT_TRUE(ArmFailpoints("download.block=error:UNAVAILABLE@5").ok());
  EXPECT_FALSE(Fetch(memory_, Download()).ok());
  ASSERT_TRUE(ArmFailpoints("").ok());
  const std::string partial = folder_.path() + "/e/.espalier-partial-graph";
  {
    std::fstream file(partial, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(250);
    file << "damage";
  }
  const auto path = Fetch(memory_, Download());
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(Contents(*path), text_);
  EXPECT_EQ(report_.kept_bytes, 4 * kBlockBytes);  // all but the damaged block
}

TEST_P(BlockDownloadTest, ReportsShortObject) {
  ASSERT_TRUE(PutText(memory_, "graph", text_.substr(0, 1000)).ok());
  const Status status = Fetch(memory_, Download()).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("graph is shorter than the 1050 bytes expected"));
  EXPECT_FALSE(IsThereUnderItsName());
}

TEST_P(BlockDownloadTest, ForwardsErrorsOfStore) {
  BlockDownload download = Download();
  download.key = "nowhere";
  const Status status = Fetch(memory_, download).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("nowhere"));
}

TEST_P(BlockDownloadTest, EndsAtDeadlineAndOnStop) {
  options_.deadline = Deadline::At(SteadyTime());
  const Status late = Fetch(memory_, Download()).status();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("of 1050 bytes are downloaded"));

  options_.deadline = Soon();
  std::atomic<bool> stopped{false};
  options_.stop_requested = [&] {
    stopped = true;
    return true;
  };
  // No block arrives before stop_requested has been called.
  HookedStore waiting(memory_, [&](const std::string&, ByteRange, std::span<std::byte>) {
    while (!stopped) std::this_thread::yield();
    return Status();
  });
  EXPECT_EQ(Fetch(waiting, Download()).status().code(), StatusCode::kCancelled);
}

TEST_P(BlockDownloadTest, ReportsThatNoThreadStarts) {
  const NoMoreThreads none;
  const auto path = Fetch(memory_, Download());
  EXPECT_EQ(path.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(path.status().message(), HasSubstr("graph: cannot start a thread: "));
  EXPECT_FALSE(IsThereUnderItsName());
}

TEST_P(BlockDownloadTest, FetchesNothingOfAnEmptyObject) {
  ASSERT_TRUE(PutText(memory_, "empty", "").ok());
  const auto path = Fetch(memory_, {.key = "empty", .size_bytes = 0, .block_bytes = kBlockBytes, .block_hashes = {}});
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(Contents(*path), "");
}

INSTANTIATE_TEST_SUITE_P(HashesKnown, BlockDownloadTest, ::testing::Bool());

// Tests in which the hashes are known.
class DamagedBlockTest : public BlockDownloadTest {};
INSTANTIATE_TEST_SUITE_P(HashesKnown, DamagedBlockTest, ::testing::Values(true));

TEST_P(DamagedBlockTest, FetchesABlockWithAFlippedBitAgain) {
  std::set<uint64_t> damaged;
  Mutex mutex;
  HookedStore flipping(memory_, [&](const std::string&, ByteRange range, std::span<std::byte> bytes) {
    MutexLock lock(&mutex);
    if (damaged.insert(range.offset).second) bytes[range.offset / 10 % bytes.size()] ^= std::byte{4};
    return Status();
  });
  const auto path = Fetch(flipping, Download());
  ASSERT_TRUE(path.ok()) << path.status().ToString();
  EXPECT_EQ(Contents(*path), text_);
  EXPECT_EQ(damaged.size(), static_cast<size_t>(kNumBlocks));
}

TEST_P(DamagedBlockTest, NamesBlockThatRemainsCorrupt) {
  std::atomic<int> reads{0};
  HookedStore bad(memory_, [&](const std::string&, ByteRange range, std::span<std::byte> bytes) {
    if (range.offset == 300) ++reads, bytes[0] ^= std::byte{1};
    return Status();
  });
  const Status status = Fetch(bad, Download()).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("mem://: graph: block 3 (100 bytes at offset 300) has checksum"));
  EXPECT_EQ(reads, options_.max_fetches_per_block);
  EXPECT_FALSE(IsThereUnderItsName());
}

TEST_P(DamagedBlockTest, RefusesHashesOfAnotherSize) {
  BlockDownload download = Download();
  download.size_bytes = 2000;
  EXPECT_EQ(Fetch(memory_, download).status().code(), StatusCode::kInvalidArgument);
}

// Runs in a child process, in which a limit on file sizes simulates a full disk.
TEST_P(DamagedBlockTest, FullDiskLeavesNoFiles) {
  const auto fetch_with_limit = [&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 500, .rlim_max = 500};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = Fetch(memory_, Download()).status();
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    _exit(std::filesystem::is_empty(folder_.path() + "/e") ? 1 : 0);
  };
  EXPECT_EXIT(fetch_with_limit(), ::testing::ExitedWithCode(0),
              "RESOURCE_EXHAUSTED: making room for 1050 bytes of .*graph: no space left");
  for (const auto& file : std::filesystem::directory_iterator(folder_.path() + "/e")) {
    EXPECT_EQ(file.path().filename(), ".espalier-pin");
  }
}

}  // namespace
}  // namespace espalier::storage
