#include "services/storage/file_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::storage {
namespace {

using ::testing::HasSubstr;

TEST(LocalPathOfTest, AcceptsFileUrisAndPaths) {
  EXPECT_EQ(*ToLocalPath("file:///a/b"), "/a/b");
  EXPECT_EQ(*ToLocalPath("file:/a/b"), "/a/b");
  EXPECT_EQ(*ToLocalPath("file:a/b"), "a/b");
  EXPECT_EQ(*ToLocalPath("a/b"), "a/b");
}

TEST(LocalPathOfTest, RefusesOtherSchemesHostsAndNothing) {
  EXPECT_THAT(ToLocalPath("s3://bucket/a").status().message(), HasSubstr("in object storage: expected a local path"));
  EXPECT_THAT(ToLocalPath("s3a://bucket/a").status().message(), HasSubstr("in object storage: expected a local path"));
  EXPECT_THAT(ToLocalPath("gs://bucket/a").status().message(), HasSubstr("no driver for gs://: expected a path"));
  EXPECT_THAT(ToLocalPath("file://host/a").status().message(), HasSubstr("three slashes"));
  EXPECT_EQ(ToLocalPath("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ToLocalPath("file://").status().code(), StatusCode::kInvalidArgument);
}

TEST(IsLocalUriTest, DistinguishesFilesFromStores) {
  EXPECT_TRUE(IsLocalUri("a/b"));
  EXPECT_TRUE(IsLocalUri("file:a"));
  EXPECT_TRUE(IsLocalUri("file:///a"));
  EXPECT_FALSE(IsLocalUri("s3://bucket/a"));
}

}  // namespace
}  // namespace espalier::storage
