#include "operator/kube/object_meta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

ObjectMeta ParsedMeta(const Json& metadata) {
  const Result<ObjectMeta> meta = ParseObjectMeta({{"metadata", metadata}});
  EXPECT_TRUE(meta.ok()) << meta.status().ToString();
  return meta.ok() ? *meta : ObjectMeta();
}

std::string MetaErrorOf(const Json& object) {
  const Result<ObjectMeta> meta = ParseObjectMeta(object);
  return meta.ok() ? "ok" : meta.status().ToString();
}

TEST(ObjectMetaTest, ReadsWhatTheServerWrites) {
  const ObjectMeta meta = ParsedMeta(*ParseJson(R"({
    "name": "cora", "namespace": "ml", "uid": "u-1", "resourceVersion": "42", "generation": 3,
    "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"a": "b"}, "annotations": {"c": "d"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u-8"},
                        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u-9", "controller": true}]})"));
  EXPECT_EQ(meta.key, (ObjectKey{"ml", "cora"}));
  EXPECT_EQ(meta.uid, "u-1");
  EXPECT_EQ(meta.resource_version, "42");
  EXPECT_EQ(meta.generation, 3);
  EXPECT_THAT(meta.labels, ElementsAre(Pair("a", "b")));
  EXPECT_THAT(meta.annotations, ElementsAre(Pair("c", "d")));
  EXPECT_EQ(meta.controller, (OwnerReference{"batch/v1", "Job", "j", "u-9"}));
  EXPECT_EQ(FormatTime(meta.created_at), "2026-01-02T03:04:05Z");
  EXPECT_EQ(meta.deletion_requested_at, std::nullopt);
}

TEST(ObjectMetaTest, AbsentAndNullAreEmpty) {
  const ObjectMeta meta = ParsedMeta({{"name", "x"}});
  EXPECT_EQ(meta,
            ParsedMeta(*ParseJson(R"({"name":"x","namespace":null,"labels":null,"annotations":null,"generation":null,
                                        "ownerReferences":null,"creationTimestamp":null,"deletionTimestamp":null})")));
  EXPECT_EQ(meta.key, (ObjectKey{"", "x"}));
  EXPECT_THAT(meta.labels, IsEmpty());
  EXPECT_EQ(meta.controller, std::nullopt);
}

TEST(ObjectMetaTest, DeletionRequestTimeIsStartOfGracePeriod) {
  const ObjectMeta meta =
      ParsedMeta({{"name", "x"}, {"deletionTimestamp", "2026-01-02T03:04:35Z"}, {"deletionGracePeriodSeconds", 30}});
  ASSERT_TRUE(meta.deletion_requested_at.has_value());
  EXPECT_EQ(FormatTime(*meta.deletion_requested_at), "2026-01-02T03:04:05Z");
}

TEST(ObjectMetaTest, ReadsGenerationWrittenAsDouble) {
  EXPECT_EQ(ParsedMeta({{"name", "x"}, {"generation", 4.0}}).generation, 4);
}

TEST(ObjectMetaTest, RefusesObjectsWithoutAName) {
  for (const Json& object : {Json(), Json::array(), Json("x"), Json::object(), Json{{"metadata", nullptr}}}) {
    EXPECT_EQ(MetaErrorOf(object), "INVALID_ARGUMENT: an object without metadata");
  }
  EXPECT_EQ(MetaErrorOf({{"metadata", Json::object()}}), "INVALID_ARGUMENT: an object without metadata.name");
}

TEST(ObjectMetaTest, NamesTheFieldOfAnotherType) {
  struct Row {
    const char* field;
    Json value;
    const char* error;
  };
  for (const Row& row :
       {Row{"name", 1, "metadata.name is not a string"}, Row{"uid", Json::object(), "metadata.uid is not a string"},
        Row{"generation", "3", "metadata.generation is not an integer"},
        Row{"generation", 3.5, "metadata.generation is not an integer"},
        Row{"labels", "a=b", "metadata.labels is not an object of strings"},
        Row{"labels", {{"a", 1}}, "metadata.labels is not an object of strings"},
        Row{"labels", {{"a", nullptr}}, "metadata.labels is not an object of strings"},
        Row{"ownerReferences", Json::object(), "metadata.ownerReferences is not a list"},
        Row{"ownerReferences", {1}, "metadata.ownerReferences is not a list of objects"},
        Row{"creationTimestamp", "yesterday", "metadata.creationTimestamp is not a time"},
        Row{"deletionTimestamp", 5, "metadata.deletionTimestamp is not a string"},
        Row{"deletionGracePeriodSeconds", -1, "metadata.deletionGracePeriodSeconds is not between 0 and 100 years"},
        Row{"deletionGracePeriodSeconds", INT64_MAX,
            "metadata.deletionGracePeriodSeconds is not between 0 and 100 years"}}) {
    Json object = {{"metadata", {{"name", "x"}}}};
    object["metadata"][row.field] = row.value;
    EXPECT_EQ(MetaErrorOf(object), std::string("INVALID_ARGUMENT: ") + row.error);
  }
}

TEST(ObjectMetaTest, PointsToItsOwner) {
  ObjectMeta owner;
  owner.key = {"ml", "cora"};
  owner.uid = "u-1";
  EXPECT_EQ(Print(MakeControllerReference(kDistTrainings, owner)),
            R"({"apiVersion":"espalier.io/v1alpha1","blockOwnerDeletion":true,"controller":true,"kind":"DistTraining",)"
            R"("name":"cora","uid":"u-1"})");
}

}  // namespace
}  // namespace espalier::ctl::kube
