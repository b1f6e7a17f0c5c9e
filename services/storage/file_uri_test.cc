#include "services/storage/file_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::storage {
namespace {

using ::testing::HasSubstr;

TEST(LocalPathOfTest, TakesFileUrisAndPaths) {
  EXPECT_EQ(*LocalPathOf("file:///a/b"), "/a/b");
  EXPECT_EQ(*LocalPathOf("file:/a/b"), "/a/b");
  EXPECT_EQ(*LocalPathOf("file:a/b"), "a/b");
  EXPECT_EQ(*LocalPathOf("a/b"), "a/b");
}

TEST(LocalPathOfTest, RefusesOtherSchemesHostsAndNothing) {
  EXPECT_THAT(LocalPathOf("s3://bucket/a").status().message(), HasSubstr("in object storage: expected a local path"));
  EXPECT_THAT(LocalPathOf("s3a://bucket/a").status().message(), HasSubstr("in object storage: expected a local path"));
  EXPECT_THAT(LocalPathOf("gs://bucket/a").status().message(), HasSubstr("no driver for gs://: expected a path"));
  EXPECT_THAT(LocalPathOf("file://host/a").status().message(), HasSubstr("three slashes"));
  EXPECT_EQ(LocalPathOf("").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalPathOf("file://").status().code(), StatusCode::kInvalidArgument);
}

TEST(IsLocalUriTest, KnowsFilesFromStores) {
  EXPECT_TRUE(IsLocalUri("a/b"));
  EXPECT_TRUE(IsLocalUri("file:a"));
  EXPECT_TRUE(IsLocalUri("file:///a"));
  EXPECT_FALSE(IsLocalUri("s3://bucket/a"));
}

}  // namespace
}  // namespace espalier::storage
