#include "operator/client/testing/fake_api_server_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FieldsTest : public ::testing::Test {
 protected:
  std::vector<FieldConflict> Apply(const Json& wanted, const std::string& manager, bool force = true) {
    return ApplyFields(paths_, wanted, manager, Part::kMain, force, &live_);
  }
  void Write(const Json& object, const std::string& manager) {
    const Json before = live_.object;
    live_.object = object;
    RecordChange(paths_, before, manager, Part::kMain, &live_);
  }
  FieldPaths paths_;
  OwnedObject live_{Json::object(), {}};
};

TEST_F(FieldsTest, RemovesEmptyObjects) {
  Apply({{"spec", {{"a", {{"b", 1}}}, {"c", 2}}}}, "m");
  Apply({{"spec", {{"c", 2}}}}, "m");
  EXPECT_EQ(live_.object, Json({{"spec", {{"c", 2}}}}));
}

TEST_F(FieldsTest, ReplacesListsWhole) {
  Apply({{"spec", {{"args", {"a", "b"}}}}}, "m");
  Apply({{"spec", {{"args", {"c"}}}}}, "m");
  EXPECT_EQ(live_.object, Json({{"spec", {{"args", {"c"}}}}}));
}

TEST_F(FieldsTest, NamesTheOwnerAndTheFieldOfAConflict) {
  Write({{"spec", {{"replicas", 1}}}}, "kubectl");
  const std::vector<FieldConflict> conflicts = Apply({{"spec", {{"replicas", 2}}}}, "m", /*force=*/false);
  ASSERT_THAT(conflicts, SizeIs(1));
  EXPECT_EQ(conflicts[0].manager, "kubectl");
  EXPECT_EQ(conflicts[0].field, ".spec.replicas");
  EXPECT_EQ(live_.object, Json({{"spec", {{"replicas", 1}}}}));
}

TEST_F(FieldsTest, SharesAFieldOfTheSameValue) {
  Write({{"spec", {{"replicas", 1}}}}, "kubectl");
  EXPECT_THAT(Apply({{"spec", {{"replicas", 1}}}}, "m", /*force=*/false), IsEmpty());
  Apply(Json::object(), "m");
  EXPECT_EQ(live_.object, Json({{"spec", {{"replicas", 1}}}}));
}

TEST_F(FieldsTest, LastWriterOwnsField) {
  Apply({{"spec", {{"replicas", 1}}}}, "m");
  Write({{"spec", {{"replicas", 5}}}}, "kubectl");
  Apply(Json::object(), "m");  // m does not own the field any more, so it cannot remove it
  EXPECT_EQ(live_.object, Json({{"spec", {{"replicas", 5}}}}));
}

TEST_F(FieldsTest, MergesOwnerReferencesByUid) {
  const auto owner = [](const std::string& uid) {
    return Json{{"metadata", {{"ownerReferences", {{{"uid", uid}, {"kind", "Job"}}}}}}};
  };
  Apply(owner("1"), "one");
  Apply(owner("2"), "two");
  EXPECT_THAT(live_.object["metadata"]["ownerReferences"], SizeIs(2));
  Apply(Json::object(), "one");
  EXPECT_EQ(live_.object, owner("2"));
}

TEST_F(FieldsTest, ServerFieldsHaveNoOwner) {
  Apply({{"apiVersion", "v1"}, {"kind", "X"}, {"metadata", {{"name", "a"}, {"uid", "u"}}}}, "m");
  EXPECT_THAT(live_.owners, IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::client::fake
