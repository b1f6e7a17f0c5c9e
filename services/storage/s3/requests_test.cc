#include "services/storage/s3/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/sha256.h"
#include "services/storage/testing/put_text.h"

namespace espalier::storage {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Header = std::pair<std::string, std::string>;

S3Bucket BucketWith(S3Addressing addressing, const std::string& endpoint) {
  const Result<S3Bucket> bucket =
      MakeS3Bucket("graphs", {.endpoint = endpoint, .region = "eu-west-1", .addressing = addressing});
  EXPECT_TRUE(bucket.ok()) << bucket.status().ToString();
  return *bucket;
}

std::string UrlOf(const S3Request& request, const S3Bucket& bucket) {
  return SignRequest(request, bucket, {}, WallTime(), Sha256Hex("")).url;
}

TEST(S3RequestTest, AddressesBucketsByPathAndByHost) {
  const S3Request get = GetObjectRequest("a b/dt=2024/x");
  EXPECT_EQ(UrlOf(get, BucketWith(S3Addressing::kPath, "https://s3.test:9000")),
            "https://s3.test:9000/graphs/a%20b/dt%3D2024/x");
  EXPECT_EQ(UrlOf(get, BucketWith(S3Addressing::kVirtualHost, "https://s3.test:443/")),
            "https://graphs.s3.test/a%20b/dt%3D2024/x");
  EXPECT_EQ(UrlOf(get, BucketWith(S3Addressing::kPath, "")),
            "https://s3.eu-west-1.amazonaws.com/graphs/a%20b/dt%3D2024/x");
  EXPECT_EQ(UrlOf(get, BucketWith(S3Addressing::kPath, "http://[::1]:9000")),
            "http://[::1]:9000/graphs/a%20b/dt%3D2024/x");
  EXPECT_EQ(UrlOf(ListObjectsRequest("p/q", ""), BucketWith(S3Addressing::kVirtualHost, "https://s3.test")),
            "https://graphs.s3.test/?encoding-type=url&list-type=2&prefix=p%2Fq");
}

TEST(S3RequestTest, KeepsThePathOfAnEndpoint) {
  const S3Request get = GetObjectRequest("k");
  EXPECT_EQ(UrlOf(get, BucketWith(S3Addressing::kPath, "https://store.test/storage/v1/s3/")),
            "https://store.test/storage/v1/s3/graphs/k");
  EXPECT_EQ(UrlOf(get, BucketWith(S3Addressing::kVirtualHost, "https://store.test/s3")),
            "https://graphs.store.test/s3/k");
  EXPECT_THAT(UrlOf(ListObjectsRequest("", ""), BucketWith(S3Addressing::kVirtualHost, "https://store.test/s3")),
              HasSubstr("https://graphs.store.test/s3?"));
}

TEST(S3RequestTest, UsesRegionalHostOnlyOnAws) {
  const S3Request get = GetObjectRequest("k");
  EXPECT_EQ(UrlOf(get, InRegion(BucketWith(S3Addressing::kPath, ""), "eu-central-1")),
            "https://s3.eu-central-1.amazonaws.com/graphs/k");
  EXPECT_EQ(UrlOf(get, InRegion(BucketWith(S3Addressing::kVirtualHost, ""), "cn-north-1")),
            "https://graphs.s3.cn-north-1.amazonaws.com.cn/k");
  const S3Bucket elsewhere = InRegion(BucketWith(S3Addressing::kPath, "https://s3.test"), "garage");
  EXPECT_EQ(UrlOf(get, elsewhere), "https://s3.test/graphs/k");
  EXPECT_EQ(elsewhere.region, "garage");
}

TEST(S3RequestTest, SignsRequestedHost) {
  const http::Request sent =
      SignRequest(HeadObjectRequest("k"), BucketWith(S3Addressing::kVirtualHost, "http://s3.test:80"),
                  {"AKID", telemetry::Secret("secret"), telemetry::Secret("token"), {}}, WallTime(), Sha256Hex(""));
  EXPECT_THAT(sent.headers, Contains(Header("host", "graphs.s3.test")));
  EXPECT_THAT(sent.headers, Contains(Header("x-amz-security-token", "token")));
  EXPECT_THAT(sent.headers.back().second, HasSubstr("/eu-west-1/s3/aws4_request"));
}

TEST(S3RequestTest, RefusesInvalidBucketsAndEndpoints) {
  for (const std::string& name : {std::string(), std::string("ab"), std::string("-abc"), std::string("abc-"),
                                  std::string("a..b"), std::string("a/b"), std::string("\xc3\xa4graphs"),
                                  std::string("a:b"), std::string("a%2fb"), std::string(256, 'a')}) {
    EXPECT_EQ(MakeS3Bucket(name, {}).status().code(), StatusCode::kInvalidArgument) << name;
  }
  // Names that Ceph allows in a path are not valid in a host name.
  for (const std::string& name : {std::string("My_Bucket"), std::string("Graphs"), std::string(64, 'a')}) {
    EXPECT_TRUE(MakeS3Bucket(name, {}).ok()) << name;
    EXPECT_EQ(MakeS3Bucket(name, {.addressing = S3Addressing::kVirtualHost}).status().code(),
              StatusCode::kInvalidArgument)
        << name;
  }
  for (const char* endpoint :
       {"s3.test", "ftp://s3.test", "https://", "https://user:secret@s3.test", "https://s3.test/a//b",
        "https://s3.test/../a", "https://s3.test/a?b", "https://s3.test/a%2f", "https://s3.test:0",
        "https://s3.test:65536", "https://s3.te st", "https://s3.test#x"}) {
    const Status status = MakeS3Bucket("graphs", {.endpoint = endpoint}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << endpoint;
    EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(MakeS3Bucket("graphs", {.region = "eu west"}).status().code(), StatusCode::kInvalidArgument);
}

TEST(S3RequestTest, RangeHeadersHaveLastByte) {
  const S3Request request = GetObjectRangeRequest("k", {3, 4}, "\"e\"");
  EXPECT_THAT(request.headers, Contains(Header("range", "bytes=3-6")));
  EXPECT_THAT(request.headers, Contains(Header("if-match", "\"e\"")));
  EXPECT_THAT(GetObjectRangeRequest("k", {3, 4}, "").headers, ::testing::SizeIs(1));
}

TEST(S3RequestTest, SendsChecksums) {
  EXPECT_EQ(EncodeCrc32(ComputeCrc32(BytesOf("123456789"))), "y/Q5Jg==");  // 0xCBF43926, CRC-32's check value
  EXPECT_THAT(PutObjectRequest("k", BytesOf("123456789")).headers,
              Contains(Header("x-amz-checksum-crc32", "y/Q5Jg==")));
  const S3Request deletion = DeleteObjectsRequest(std::vector<std::string>{"a<b>&\"c"});
  EXPECT_THAT(deletion.text, HasSubstr("<Key>a&lt;b&gt;&amp;&quot;c</Key>"));
  EXPECT_THAT(deletion.headers, Contains(::testing::Pair("content-md5", ::testing::SizeIs(24))));
}

TEST(S3RequestTest, RefusesKeysThatXmlCannotContain) {
  EXPECT_TRUE(CanBeInXml("a b&<\xc3\xa4"));
  EXPECT_FALSE(CanBeInXml("a\nb"));
  EXPECT_FALSE(CanBeInXml("a\x01"));
}

TEST(S3RequestTest, NamesThePartsOfAnUpload) {
  const S3Request request = CompleteMultipartUploadRequest(
      "k", "id/1", std::vector<UploadedPart>{{1, "\"x\"", 0xCBF43926}, {2, "\"y\"", 0}}, 7);
  EXPECT_THAT(request.text, HasSubstr("<Part><ChecksumCRC32>y/Q5Jg==</ChecksumCRC32><ETag>&quot;x&quot;</ETag>"
                                      "<PartNumber>1</PartNumber></Part>"));
  EXPECT_THAT(request.headers, Contains(Header("x-amz-checksum-type", "FULL_OBJECT")));
  const S3Request composite =
      CompleteMultipartUploadRequest("k", "id/1", std::vector<UploadedPart>{{1, "\"x\"", 0xCBF43926}}, std::nullopt);
  EXPECT_THAT(composite.headers, ::testing::SizeIs(1)) << "a store that keeps none of the object takes it for another";
  EXPECT_THAT(composite.text, HasSubstr("<ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>"));
  EXPECT_THAT(UploadPartRequest("k", "id/1", 2, {}).query, Contains(Header("uploadId", "id/1")));
}

}  // namespace
}  // namespace espalier::storage
