#include "services/trainer/results/growing_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/hash.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::trainer {
namespace {

TEST(GrowingObjectTest, GrowsInALocalFile) {
  const storage::TemporaryFolder folder;
  storage::FileStore store(folder.path());
  const auto object = GrowingObject::Open(store, "a/metrics.jsonl");
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  EXPECT_EQ(*store.Get("a/metrics.jsonl"), "");
  ASSERT_TRUE((*object)->Append("one\n").ok());
  EXPECT_EQ(*store.Get("a/metrics.jsonl"), "one\n");
  ASSERT_TRUE((*object)->Append("two\n").ok());
  ASSERT_TRUE((*object)->Flush().ok());
  EXPECT_EQ(*store.Get("a/metrics.jsonl"), "one\ntwo\n");
  // A second run starts with an empty object.
  ASSERT_TRUE(GrowingObject::Open(store, "a/metrics.jsonl").ok());
  EXPECT_EQ(*store.Get("a/metrics.jsonl"), "");
}

TEST(GrowingObjectTest, IsWrittenWholeToOtherStores) {
  storage::MemoryStore store;
  const auto object = GrowingObject::Open(store, "metrics.jsonl");
  ASSERT_TRUE(object.ok());
  ASSERT_TRUE((*object)->Append("one\n").ok());
  EXPECT_EQ(*store.Get("metrics.jsonl"), "");
  ASSERT_TRUE((*object)->Flush().ok());
  EXPECT_EQ(*store.Get("metrics.jsonl"), "one\n");
  ASSERT_TRUE((*object)->Append("two\n").ok());
  (*object)->FlushSoon();
  ASSERT_TRUE((*object)->Flush().ok());
  EXPECT_EQ(*store.Get("metrics.jsonl"), "one\ntwo\n");
  const format::FileEntry entry = (*object)->Entry();
  EXPECT_EQ(entry.size_bytes, 8u);
  EXPECT_THAT(entry.block_hashes, testing::ElementsAre(Hash64(std::string("one\ntwo\n"))));
}

TEST(GrowingObjectTest, ReportsLateErrors) {
  storage::MemoryStore inner;
  // The first write, of the empty object, succeeds; all later ones fail.
  storage::FaultyStore store(inner, 1);
  const auto object = GrowingObject::Open(store, "metrics.jsonl");
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  ASSERT_TRUE((*object)->Append("one\n").ok());
  (*object)->FlushSoon();
  EXPECT_EQ((*object)->Flush().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(*inner.Get("metrics.jsonl"), "");
}

TEST(GrowingObjectTest, HashesEveryBlock) {
  storage::MemoryStore store;
  const auto object = GrowingObject::Open(store, "long");
  ASSERT_TRUE(object.ok());
  const std::string block(format::kChecksumBlockBytes, 'a');
  ASSERT_TRUE((*object)->Append(block).ok() && (*object)->Append("b").ok());
  EXPECT_THAT((*object)->Entry().block_hashes, testing::ElementsAre(Hash64(block), Hash64(std::string("b"))));
}

}  // namespace
}  // namespace espalier::trainer
