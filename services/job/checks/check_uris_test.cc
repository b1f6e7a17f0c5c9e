#include "services/job/checks/check_uris.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/job/fields/field_table.h"

namespace espalier::job {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UriProblemTest, AcceptsPathsFilesAndBuckets) {
  for (const char* uri :
       {"graph", "/srv/graph", "file:graph", "file:/srv", "file:///srv/g", "s3://graphs", "s3://graphs/",
        "s3://graphs/cora", "s3://my-bucket.v2/a b/c%20d/", "S3://graphs/cora", "s3a://graphs/cora"}) {
    EXPECT_EQ(UriProblem(uri, kMaxKeyBytes), "") << uri;
  }
}

TEST(UriProblemTest, NamesMalformedPart) {
  EXPECT_EQ(UriProblem("", kMaxKeyBytes), "is empty");
  EXPECT_THAT(UriProblem("file://host/graph", kMaxKeyBytes), HasSubstr("must not have a host"));
  EXPECT_THAT(UriProblem("file://", kMaxKeyBytes), HasSubstr("names no folder"));
  EXPECT_THAT(UriProblem("gs://graphs/cora", kMaxKeyBytes),
              HasSubstr("there is no driver for gs://: expected a path, a file: URI or s3://bucket/prefix"));
  EXPECT_THAT(UriProblem("s3:graphs/cora", kMaxKeyBytes), HasSubstr("expected s3://bucket/prefix"));
  EXPECT_THAT(UriProblem("a\nb", kMaxKeyBytes), HasSubstr("control character"));
  EXPECT_THAT(UriProblem("s3://graphs//cora", kMaxKeyBytes), HasSubstr("must not have an empty, '.' or '..' part"));
  EXPECT_THAT(UriProblem("s3://graphs/../other", kMaxKeyBytes), HasSubstr("must not have an empty, '.' or '..' part"));
  EXPECT_THAT(UriProblem("s3://graphs/a\\b", kMaxKeyBytes), HasSubstr("must not have a backslash"));
}

TEST(UriProblemTest, LimitsPrefixLength) {
  const auto problem = [](size_t size, size_t max_prefix) {
    return UriProblem("s3://graphs/" + std::string(size, 'x'), max_prefix);
  };
  EXPECT_EQ(problem(512, kMaxOutputPrefixBytes), "");
  EXPECT_THAT(problem(513, kMaxOutputPrefixBytes), HasSubstr("at most 512 bytes: keys have at most 1024"));
  EXPECT_EQ(problem(1024, kMaxKeyBytes), "");
  EXPECT_THAT(problem(1025, kMaxKeyBytes), HasSubstr("at most 1024 bytes"));
}

TEST(UriProblemTest, NamesInvalidBucket) {
  for (const char* uri : {"s3://", "s3:///cora", "s3://ab/c", "s3://_graphs/cora", "s3://-graphs/c", "s3://a..b/c",
                          "s3://user@graphs/c", "s3://graphs:9000/c"}) {
    EXPECT_THAT(UriProblem(uri, kMaxKeyBytes), HasSubstr("with a bucket of 3 to 255")) << uri;
  }
  EXPECT_NE(UriProblem("s3://" + std::string(256, 'a'), kMaxKeyBytes), "");
  EXPECT_EQ(UriProblem("s3://Our_Graphs/cora", kMaxKeyBytes), "") << "as Ceph allows";
}

TEST(EndpointProblemTest, AcceptsHostsWithAndWithoutPorts) {
  for (const char* endpoint : {"https://s3.example.com", "https://s3.example.com/", "http://127.0.0.1:9000",
                               "http://minio.storage.svc:80/", "https://x.example.com/storage/v1/s3",
                               "http://gateway:8080/s3/", "http://[::1]:9000", "https://[2001:db8::1]"}) {
    EXPECT_EQ(EndpointProblem(endpoint), "") << endpoint;
  }
}

TEST(EndpointProblemTest, RefusesInvalidAddresses) {
  for (const char* endpoint :
       {"", "s3.example.com", "ftp://host", "https://", "https:///", "http://host:0", "http://host:65536",
        "http://host:", "http://host:9a", "http://host/a//b", "http://host/../a", "http://host/a%2f",
        "http://host/p?x=1", "http://host?x=1", "http://ho st", "http://[::1", "http://[]:9000"}) {
    EXPECT_THAT(EndpointProblem(endpoint), HasSubstr("expected http://host[:port][/path]")) << endpoint;
  }
  const std::string with_password = EndpointProblem("https://me:hunter2@s3.example.com");
  EXPECT_THAT(with_password, HasSubstr("must not have a user or password"));
  EXPECT_THAT(with_password, Not(HasSubstr("hunter2")));
}

TEST(ObjectNameProblemTest, FollowsKubernetes) {
  EXPECT_EQ(ObjectNameProblem("cora-s3.v1"), "");
  for (const char* name : {"", "Cora", "-cora", "cora-", "a_b", "a/b"}) EXPECT_NE(ObjectNameProblem(name), "") << name;
  EXPECT_NE(ObjectNameProblem(std::string(254, 'a')), "");
}

}  // namespace
}  // namespace espalier::job
