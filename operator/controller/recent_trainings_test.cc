#include "operator/controller/recent_trainings.h"

#include <gtest/gtest.h>

#include "operator/api/testing/cluster_document.h"

namespace espalier::ctl::controller {
namespace {

using Read = std::shared_ptr<const api::DistTraining>;

kube::Json Document(const std::string& name = "cora") {
  kube::Json object = api::ClusterDocument();
  object["metadata"]["name"] = name;
  return object;
}

std::shared_ptr<const TrainingRecord> RecordOf(const kube::Json& object) {
  return std::make_shared<const TrainingRecord>(*ParseTrainingRecord(object));
}

TEST(RecentTrainingsTest, ReturnsSameValueForSameRecord) {
  RecentTrainings recent;
  const auto record = RecordOf(Document());
  const Read read = *recent.Read(record);
  EXPECT_TRUE(read->spec.has_value()) << read->violations;
  EXPECT_EQ(*recent.Read(record), read);
  // A relist has delivered the resource again: it is a new record, and is read again.
  const Read again = *recent.Read(RecordOf(Document()));
  EXPECT_NE(again, read);
  EXPECT_EQ(again->raw_spec, read->raw_spec);
}

TEST(RecentTrainingsTest, ParsesChangedRecords) {
  RecentTrainings recent;
  kube::Json object = Document();
  ASSERT_TRUE(recent.Read(RecordOf(object)).ok());
  object["status"]["incarnation"] = 3;
  EXPECT_EQ((*recent.Read(RecordOf(object)))->status.incarnation, 3);
  object["spec"]["training"]["epochs"] = 7;
  EXPECT_EQ((*recent.Read(RecordOf(object)))->spec->job.training.epochs, 7);
  object["spec"]["training"]["epochs"] = -1;
  const Read invalid = *recent.Read(RecordOf(object));
  EXPECT_FALSE(invalid->spec.has_value());
  EXPECT_NE(invalid->violations, "");
  object["spec"]["training"]["epochs"] = 7;
  EXPECT_TRUE((*recent.Read(RecordOf(object)))->spec.has_value());
}

TEST(RecentTrainingsTest, KeepsOnlyLatestRecord) {
  RecentTrainings recent(/*capacity=*/2);
  const auto a = RecordOf(Document("a")), b = RecordOf(Document("b")), c = RecordOf(Document("c"));
  const Read first_a = *recent.Read(a), first_b = *recent.Read(b);
  EXPECT_EQ(*recent.Read(a), first_a);
  ASSERT_TRUE(recent.Read(c).ok());  // b is evicted: a was used since
  EXPECT_EQ(recent.size(), 2u);
  EXPECT_EQ(*recent.Read(a), first_a);
  EXPECT_NE(*recent.Read(b), first_b);
  recent.Forget(a->meta.key);
  recent.Forget(a->meta.key);
  EXPECT_EQ(recent.size(), 1u);
  EXPECT_NE(*recent.Read(a), first_a);
}

TEST(RecentTrainingsTest, KeepsNothingForInvalidRecords) {
  RecentTrainings recent;
  kube::Json object = Document();
  object.erase("spec");
  EXPECT_EQ(recent.Read(RecordOf(object)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(recent.size(), 0u);
}

}  // namespace
}  // namespace espalier::ctl::controller
