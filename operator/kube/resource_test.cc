#include "operator/kube/resource.h"

#include <gtest/gtest.h>

#include "operator/kube/resource_version.h"

namespace espalier::ctl::kube {
namespace {

TEST(ResourceTest, HasApiVersion) {
  EXPECT_EQ(kPods.api_version(), "v1");
  EXPECT_EQ(kJobs.api_version(), "batch/v1");
}

TEST(ResourceTest, IsFoundByApiVersionAndKind) {
  EXPECT_EQ(FindResource("v1", "Event"), &kCoreEvents);
  EXPECT_EQ(FindResource("events.k8s.io/v1", "Event"), &kEvents);
  EXPECT_EQ(FindResource("espalier.io/v1alpha1", "DistTraining"), &kDistTrainings);
  EXPECT_EQ(FindResource("v1", "Job"), nullptr);
  EXPECT_EQ(FindResource("batch/v1beta1", "Job"), nullptr);
  EXPECT_EQ(FindResource("", ""), nullptr);
}

TEST(ObjectKeyTest, PrintsNamespaceAndName) {
  EXPECT_EQ(ToString({"ml", "cora"}), "ml/cora");
  EXPECT_EQ(ToString({"", "node-1"}), "node-1");
}

TEST(ObjectKeyTest, RefusesNamesThatChangePath) {
  EXPECT_TRUE(CheckKey(kPods, {"ml", "a.b"}).ok());
  EXPECT_TRUE(CheckKey(kNodes, {"", "node-1"}).ok());
  for (const char* name : {"", ".", "..", "a/b", "a%2fb"}) {
    EXPECT_EQ(CheckKey(kPods, {"ml", name}).code(), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(CheckKey(kPods, {name, "x"}).code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(CheckKey(kSecrets, {"ml", ".."}).message(), "'..' is not a valid name of a Secret");
  EXPECT_EQ(CheckKey(kNodes, {"ml", "node-1"}).message(), "a Node has no namespace");
}

TEST(ResourceVersionTest, ComparesNumbersOfAnyLength) {
  EXPECT_EQ(IsOlder("9", "10"), true);
  EXPECT_EQ(IsOlder("10", "9"), false);
  EXPECT_EQ(IsOlder("10", "10"), false);
  EXPECT_EQ(IsOlder("18446744073709551615", "18446744073709551616"), true) << "beyond 64 bits";
}

TEST(ResourceVersionTest, DoesNotCompareInvalidVersions) {
  for (const char* text : {"", "0", "007", "-1", "1.0", "abc", "1a", " 1"}) {
    EXPECT_FALSE(IsComparable(text)) << text;
    EXPECT_EQ(IsOlder(text, "5"), std::nullopt) << text;
    EXPECT_EQ(IsOlder("5", text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace espalier::ctl::kube
