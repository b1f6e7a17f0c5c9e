// Tests the lookup by key and index, and the changes that StoreSink reports.
#include "operator/runtime/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/runtime/testing/things.h"

namespace espalier::ctl::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct Pod {
  kube::ObjectMeta meta;
  std::string job;
};

Pod MakePod(const std::string& name, const std::string& job, const std::string& uid = "u") {
  Pod pod;
  pod.meta.key = {"default", name};
  pod.meta.uid = uid;
  pod.job = job;
  return pod;
}

std::optional<kube::ObjectKey> JobOf(const Pod& pod) {
  if (pod.job.empty()) return std::nullopt;
  return ThingKey(pod.job);
}

std::vector<std::string> NamesOf(const std::vector<Store<Pod>::Value>& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value->meta.key.name);
  return names;
}

TEST(StoreTest, FindsByKeyAndByIndexInOrderOfKeys) {
  Store<Pod> store(JobOf);
  store.Put(MakePod("b", "cora"));
  store.Put(MakePod("a", "cora"));
  store.Put(MakePod("c", "ogbn"));
  store.Put(MakePod("stray", ""));

  EXPECT_EQ(store.size(), 4u);
  EXPECT_EQ(store.Get(ThingKey("c"))->job, "ogbn");
  EXPECT_EQ(store.Get(ThingKey("d")), nullptr);
  EXPECT_THAT(NamesOf(store.ByIndex(ThingKey("cora"))), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(store.ByIndex(ThingKey("nobody"))), IsEmpty());
  EXPECT_THAT(NamesOf(store.All()), ElementsAre("a", "b", "c", "stray"));
}

TEST(StoreTest, PutReturnsPreviousObjectAndUpdatesIndex) {
  Store<Pod> store(JobOf);
  EXPECT_EQ(store.Put(MakePod("a", "cora")), nullptr);
  const Store<Pod>::Value held = store.Get(ThingKey("a"));

  const Store<Pod>::Value before = store.Put(MakePod("a", "ogbn"));

  EXPECT_EQ(before, held);
  EXPECT_EQ(held->job, "cora") << "values never change";
  EXPECT_THAT(store.ByIndex(ThingKey("cora")), IsEmpty());
  EXPECT_THAT(NamesOf(store.ByIndex(ThingKey("ogbn"))), ElementsAre("a"));
}

TEST(StoreTest, RemovesValueAndIndexEntry) {
  Store<Pod> store(JobOf);
  store.Put(MakePod("a", "cora"));

  EXPECT_EQ(store.Remove(ThingKey("a"))->job, "cora");
  EXPECT_EQ(store.Remove(ThingKey("a")), nullptr);
  EXPECT_EQ(store.size(), 0u);
  EXPECT_THAT(store.ByIndex(ThingKey("cora")), IsEmpty());
}

TEST(StoreTest, WorksWithoutAnIndex) {
  Store<Pod> store;
  store.Put(MakePod("a", "cora"));

  EXPECT_THAT(store.ByIndex(ThingKey("cora")), IsEmpty());
  EXPECT_EQ(store.Remove(ThingKey("a"))->meta.key.name, "a");
}

TEST(StoreSinkTest, ReportsNewChangedAndDeleted) {
  Things things;
  ASSERT_TRUE(things.sink().OnObject(ThingJson("a", "1", "10")).ok());
  ASSERT_TRUE(things.sink().OnObject(ThingJson("a", "1", "11")).ok());
  EXPECT_THAT(things.sink().Known(), ElementsAre(Pair(ThingKey("a"), "1")));
  things.sink().OnDeleted(ThingKey("a"), "1");
  things.sink().OnDeleted(ThingKey("a"), "1");

  EXPECT_THAT(things.changes(), ElementsAre("a ->1", "a 1>1", "a 1>-"));
  EXPECT_THAT(things.sink().Known(), IsEmpty());
}

TEST(StoreSinkTest, AnotherUidUnderTheSameKeyIsADeletionAndANewObject) {
  Things things;
  ASSERT_TRUE(things.sink().OnObject(ThingJson("a", "1", "10")).ok());
  ASSERT_TRUE(things.sink().OnObject(ThingJson("a", "2", "12")).ok());

  EXPECT_THAT(things.changes(), ElementsAre("a ->1", "a 1>-", "a ->2"));
}

TEST(StoreSinkTest, DeletionOfOlderObjectKeepsNewOne) {
  Things things;
  ASSERT_TRUE(things.sink().OnObject(ThingJson("a", "2", "12")).ok());
  things.sink().OnDeleted(ThingKey("a"), "1");

  EXPECT_EQ(things.store().Get(ThingKey("a"))->meta.uid, "2");
}

TEST(StoreSinkTest, UnreadableObjectKeepsKnownOne) {
  Things things;
  ASSERT_TRUE(things.sink().OnObject(ThingJson("a", "1", "10")).ok());

  EXPECT_EQ(things.sink().OnObject(ThingJson("a", "", "11")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(things.store().Get(ThingKey("a"))->meta.resource_version, "10");
  EXPECT_THAT(things.changes(), ElementsAre("a ->1"));
}

}  // namespace
}  // namespace espalier::ctl::runtime
