// Partitions whose files are not local: downloads, copies, the limit of the cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "services/base/failpoint.h"
#include "services/base/mutex.h"
#include "services/format/partition/partition_files.h"
#include "services/format/testing/tiny_graph.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/hooked_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

class PartitionDownloadTest : public ::testing::Test {
 protected:
  PartitionDownloadTest()
      : manifest_(WriteTinyPartitioning(memory_, "p")),
        store_(memory_, [this](const std::string& key, storage::ByteRange range, std::span<std::byte> bytes) {
          ++reads_;
          return tamper_ ? tamper_(key, range, bytes) : Status();
        }) {
    options_.edge_columns = options_.original_edge_ids = true;
    options_.data_dir = data_dir_.path();
  }
  ~PartitionDownloadTest() override { EXPECT_TRUE(ArmFailpoints("").ok()); }

  Result<graph::Partition> Load(uint32_t partition = 0) {
    return LoadPartition(store_, "p", manifest_, PartitionId(partition), options_);
  }
  uint64_t BytesOf(uint32_t partition) const {
    const PartitionEntry& entry = manifest_.partitions[partition];
    return entry.graph.size_bytes + entry.node_columns.size_bytes + entry.edge_columns.size_bytes +
           entry.original_edge_ids.size_bytes;
  }

  const storage::TemporaryFolder data_dir_;
  storage::MemoryStore memory_;
  const Manifest manifest_;
  std::function<Status(const std::string&, storage::ByteRange, std::span<std::byte>)> tamper_;
  std::atomic<int> reads_{0};
  storage::HookedStore store_;
  LoadOptions options_;
};

TEST_F(PartitionDownloadTest, FetchesEachFileOnce) {
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(reads_, 4);
  const auto again = Load();
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(reads_, 4);
}

TEST_F(PartitionDownloadTest, CopiesFormPartitioning) {
  const auto downloaded = Load(1);
  ASSERT_TRUE(downloaded.ok()) << downloaded.status().ToString();
  storage::FileStore copies(*FolderOfCopies(options_.data_dir, manifest_));
  const auto manifest = ReadManifest(copies, "");
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  options_.data_dir = "";
  const auto mapped = LoadPartition(copies, "", *manifest, PartitionId(1), options_);
  ASSERT_TRUE(mapped.ok()) << mapped.status().ToString();
  EXPECT_EQ(std::memcmp(mapped->nodes[1].original_ids.bytes(), downloaded->nodes[1].original_ids.bytes(),
                        mapped->nodes[1].original_ids.size_bytes()),
            0);
}

TEST_F(PartitionDownloadTest, FetchesFlippedBitsAgain) {
  std::set<std::string> flipped;
  tamper_ = [&](const std::string& key, storage::ByteRange, std::span<std::byte> bytes) {
    if (flipped.insert(key).second) bytes[bytes.size() / 2] ^= std::byte{8};
    return Status();
  };
  const auto partition = Load();
  ASSERT_TRUE(partition.ok()) << partition.status().ToString();
  EXPECT_EQ(reads_, 8);
}

TEST_F(PartitionDownloadTest, NamesFileThatRemainsCorrupt) {
  tamper_ = [&](const std::string& key, storage::ByteRange, std::span<std::byte> bytes) {
    if (key.find("nodes") != std::string::npos) bytes[0] ^= std::byte{8};
    return Status();
  };
  const Status status = Load().status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("p/attempt-1/part-00000/nodes.safetensors: block 0"));
  tamper_ = nullptr;
  EXPECT_TRUE(Load().ok());
}

TEST_F(PartitionDownloadTest, ResumesWithMissingFiles) {
  for (int n = 1; n <= 4; ++n) {
    const storage::TemporaryFolder data_dir;
    options_.data_dir = data_dir.path();
    ASSERT_TRUE(ArmFailpoints("download.before_rename=error:UNAVAILABLE@" + std::to_string(n)).ok());
    EXPECT_EQ(Load().status().code(), StatusCode::kUnavailable);
    ASSERT_TRUE(ArmFailpoints("").ok());
    reads_ = 0;
    EXPECT_TRUE(Load().ok());
    EXPECT_LE(reads_, 4 - n + 1);
  }
}

TEST_F(PartitionDownloadTest, KeepsPartitionsInUseAndEvictsOthers) {
  options_.cache_bytes = 100 * 1024;
  auto first = Load(0);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const uint64_t manifest_bytes = ManifestToJson(manifest_).size();
  options_.cache_bytes = manifest_bytes + BytesOf(0) + BytesOf(1) - 1;
  const Status full = Load(1).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("are in use"));

  first = Status(Internal("no longer in use"));
  const auto second = Load(1);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  const std::string copies = *FolderOfCopies(options_.data_dir, manifest_);
  EXPECT_FALSE(std::filesystem::exists(copies + "/attempt-1/part-00000"));
  EXPECT_TRUE(std::filesystem::exists(copies + "/attempt-1/part-00001"));
}

TEST_F(PartitionDownloadTest, SharesOneCacheAmongManyLoaders) {
  {
    std::vector<std::jthread> threads;
    for (uint32_t t = 0; t < 6; ++t) {
      threads.emplace_back([this, t] {
        const auto partition = Load(t % 2);
        EXPECT_TRUE(partition.ok()) << partition.status().ToString();
      });
    }
  }
  EXPECT_EQ(reads_, 8);
}

// Servers of a partition share a cache: the copy is downloaded once, and is not verified again while one of them uses
// it.
TEST_F(PartitionDownloadTest, ServersOfAPartitionShareOneCopy) {
  options_.checksums = Checksums::kCompareOnce;
  std::vector<CopiedBytes> copied(6);
  {
    std::vector<graph::Partition> servers(copied.size());
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < copied.size(); ++i) {
      threads.emplace_back([&, i] {
        LoadOptions options = options_;
        options.copied = &copied[i];
        Result<graph::Partition> loaded = LoadPartition(store_, "p", manifest_, PartitionId(0), options);
        ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
        servers[i] = *std::move(loaded);
      });
    }
  }
  EXPECT_EQ(reads_, 4);
  uint64_t fetched = 0, found = 0;
  for (const CopiedBytes& bytes : copied) {
    fetched += bytes.fetched;
    found += bytes.found;
    EXPECT_EQ(bytes.fetched + bytes.found, BytesOf(0));
  }
  EXPECT_EQ(fetched, BytesOf(0));
  EXPECT_EQ(found, (copied.size() - 1) * BytesOf(0));
}

TEST_F(PartitionDownloadTest, UnusedCopyIsVerifiedAgain) {
  options_.checksums = Checksums::kCompareOnce;
  ASSERT_TRUE(Load().ok());
  const std::string nodes =
      *FolderOfCopies(options_.data_dir, manifest_) + "/" + manifest_.partitions[0].node_columns.key;
  {
    std::fstream file(nodes, std::ios::binary | std::ios::in | std::ios::out);
    ASSERT_TRUE(file);
    file.seekg(-1, std::ios::end);
    const char last = static_cast<char>(file.get() ^ 8);
    file.seekp(-1, std::ios::end);
    file.put(last);
  }
  ASSERT_TRUE(Load().ok());
  EXPECT_EQ(reads_, 5);
}

TEST_F(PartitionDownloadTest, EndsAtItsDeadline) {
  options_.download_timeout = std::chrono::seconds(0);
  EXPECT_EQ(Load().status().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace espalier::format
