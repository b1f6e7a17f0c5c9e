#include "services/format/files/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "services/base/hash.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

std::string Pattern(size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  for (size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  return bytes;
}

std::span<const std::byte> View(const std::string& bytes) { return std::as_bytes(std::span(bytes)); }

FileEntry Written(const std::string& bytes, size_t piece_bytes) {
  storage::MemoryStore store;
  HashingWriter writer(*store.Put("file"));
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    EXPECT_TRUE(writer.Write(View(bytes).subspan(at, std::min(piece_bytes, bytes.size() - at))).ok());
  }
  EXPECT_TRUE(writer.Commit().ok());
  EXPECT_EQ(*store.Get("file"), bytes);
  return writer.Entry("file");
}

TEST(ChecksumTest, HashesBlocksHoweverTheyAreWritten) {
  const std::string bytes = Pattern(2 * kChecksumBlockBytes + 17);
  for (const size_t piece : {size_t{1000003}, size_t{kChecksumBlockBytes}, bytes.size()}) {
    const FileEntry entry = Written(bytes, piece);
    EXPECT_EQ(entry.size_bytes, bytes.size());
    EXPECT_THAT(entry.block_hashes,
                ::testing::ElementsAre(Hash64(View(bytes).subspan(0, kChecksumBlockBytes)),
                                       Hash64(View(bytes).subspan(kChecksumBlockBytes, kChecksumBlockBytes)),
                                       Hash64(View(bytes).subspan(2 * kChecksumBlockBytes))));
  }
}

TEST(ChecksumTest, HashesWholeBlocksAndNothing) {
  EXPECT_EQ(Written(Pattern(kChecksumBlockBytes), 65536).block_hashes.size(), 1u);
  EXPECT_EQ(Written("", 1).block_hashes.size(), 0u);
}

TEST(ChecksumTest, NamesTheFirstBadBlockWithAnyNumberOfThreads) {
  std::string bytes = Pattern(3 * kChecksumBlockBytes);
  const FileEntry entry = Written(bytes, bytes.size());
  bytes[2 * kChecksumBlockBytes + 5] = static_cast<char>(bytes[2 * kChecksumBlockBytes + 5] ^ 1);
  bytes[kChecksumBlockBytes] = static_cast<char>(bytes[kChecksumBlockBytes] ^ 0x80);
  for (const int threads : {1, 4}) {
    const Status status = CheckBlocks(entry, View(bytes), "graph.safetensors", threads);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), ::testing::HasSubstr("graph.safetensors: block 1 "));
    EXPECT_THAT(status.message(), ::testing::HasSubstr("offset 4194304"));
    EXPECT_THAT(status.message(), ::testing::HasSubstr(ToHex(entry.block_hashes[1])));
  }
}

// Verifying 100 GB takes minutes, so a stop must not wait for the end.
TEST(ChecksumTest, StopsBeforeTheNextBlock) {
  const std::string bytes = Pattern(4 * kChecksumBlockBytes);
  const FileEntry entry = Written(bytes, bytes.size());
  for (const int threads : {1, 4}) {
    std::atomic<int> num_asked = 0;
    const Status stopped = CheckBlocks(entry, View(bytes), "f", threads, [&] { return ++num_asked > 1; });
    EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
    EXPECT_THAT(stopped.message(), ::testing::HasSubstr("verifying f"));
  }
  EXPECT_TRUE(CheckBlocks(entry, View(bytes), "f", 4, [] { return false; }).ok());
}

TEST(ChecksumTest, RefusesAnotherSize) {
  const std::string bytes = Pattern(100);
  const FileEntry entry = Written(bytes, 100);
  EXPECT_TRUE(CheckBlocks(entry, View(bytes), "f", 1).ok());
  EXPECT_EQ(CheckBlocks(entry, View(bytes).first(99), "f", 1).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace espalier::format
