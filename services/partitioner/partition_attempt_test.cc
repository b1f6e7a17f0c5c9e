#include "services/partitioner/partition_attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/memory_store.h"

namespace espalier::partitioner {
namespace {

using ::testing::ElementsAre;

void PutText(storage::ObjectStore& store, const std::string& key, const std::string& text) {
  const auto writer = *store.Put(key);
  ASSERT_TRUE(writer->Write(std::as_bytes(std::span(text))).ok());
  ASSERT_TRUE(writer->Commit().ok());
}

std::vector<std::string> KeysIn(storage::ObjectStore& store) {
  std::vector<std::string> keys;
  const std::vector<storage::ObjectInfo> objects = *store.List("");
  for (const storage::ObjectInfo& object : objects) keys.push_back(object.key);
  return keys;
}

TEST(AttemptFilesTest, DeletesOnlyItsFiles) {
  storage::MemoryStore store;
  PutText(store, "key/attempt-1/part", "x");
  PutText(store, "key/attempt-10/part", "x");
  { const AttemptFiles files(store, "key", "attempt-1"); }
  EXPECT_THAT(KeysIn(store), ElementsAre("key/attempt-10/part"));
}

TEST(AttemptFilesTest, KeepsCommittedFiles) {
  storage::MemoryStore store;
  PutText(store, "key/attempt-1/part", "x");
  {
    AttemptFiles files(store, "key", "attempt-1");
    files.Keep();
  }
  EXPECT_THAT(KeysIn(store), ElementsAre("key/attempt-1/part"));
}

TEST(DeleteOtherAttemptsTest, KeepsWinnerManifestAndOtherKeys) {
  storage::MemoryStore store;
  for (const char* key : {"key/attempt-1/part", "key/attempt-10/part", "key/attempt-2/part", "key/manifest.json",
                          "other/attempt-2/part"}) {
    PutText(store, key, "x");
  }
  DeleteOtherAttempts(store, "key", "attempt-1");
  EXPECT_THAT(KeysIn(store), ElementsAre("key/attempt-1/part", "key/manifest.json", "other/attempt-2/part"));
}

TEST(FindPartitioningTest, ReturnsNothingWithoutManifest) {
  storage::MemoryStore store;
  PutText(store, "key/attempt-1/part", "x");
  const auto found = FindPartitioning(store, "key");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST(FindPartitioningTest, GarbageIsError) {
  storage::MemoryStore store;
  PutText(store, "key/manifest.json", "{oops");
  EXPECT_FALSE(FindPartitioning(store, "key").ok());
}

TEST(NewAttemptNameTest, IsNewEachTime) { EXPECT_NE(NewAttemptName(), NewAttemptName()); }

}  // namespace
}  // namespace espalier::partitioner
