#include "services/base/uri_scheme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CanonicalUriTest, NormalizesObjectStorageSchemes) {
  for (const char* uri : {"s3://Bucket/A b", "S3://Bucket/A b", "s3a://Bucket/A b", "S3A://Bucket/A b"}) {
    EXPECT_EQ(CanonicalUri(uri), "s3://Bucket/A b") << uri;
  }
}

TEST(CanonicalUriTest, LeavesOthersUnchanged) {
  for (const char* uri :
       {"", "graph", "/srv/s3a://x", "file:S3", "gs://b/p", "s3:b", "s3n://b/p", "a:b://c", ":", "s3a:"}) {
    EXPECT_EQ(CanonicalUri(uri), uri);
  }
}

TEST(SchemeProblemTest, ListsTheSchemesThatExist) {
  for (const char* uri : {"gs://b/p", "az://b", "hdfs://name/p", "https://host/p", "s3n://b/p"}) {
    const std::string scheme = std::string(uri).substr(0, std::string(uri).find("://") + 3);
    EXPECT_THAT(SchemeProblem(uri), AllOf(HasSubstr("no driver for " + scheme), HasSubstr("a path"), HasSubstr("file:"),
                                          HasSubstr("s3://bucket/prefix"), HasSubstr("s3a://")));
  }
  for (const char* uri : {"", "graph", "file:a", "file:///a", "s3://b/p"}) EXPECT_EQ(SchemeProblem(uri), "") << uri;
  EXPECT_EQ(SchemeProblem("FILE:///a"), "the scheme 'file:' must be in lower case");
}

}  // namespace
}  // namespace espalier
