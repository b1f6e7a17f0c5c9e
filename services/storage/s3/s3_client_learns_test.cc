// Tests what a client learns from the responses of a service: the region of a bucket, rejected checksums, and the error
// behind a response to HEAD, which has no body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/s3/s3_client.h"
#include "services/storage/testing/s3_client_fixture.h"

namespace espalier::storage {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(S3ClientTest, FollowsRegionOfBucketAndKeepsIt) {
  service_->Answer(301, "", {{"x-amz-bucket-region", "eu-central-1"}});
  service_->Answer(200);
  service_->Answer(200);
  const auto client = Client();
  EXPECT_TRUE(Send(*client, {.request = HeadObjectRequest("k")}).ok());
  EXPECT_TRUE(Send(*client).ok());
  ASSERT_EQ(NumRequests(), 3u);
  EXPECT_THAT(service_->sent()[0].Header("authorization"), HasSubstr("/us-east-1/s3/"));
  EXPECT_THAT(service_->sent()[1].Header("authorization"), HasSubstr("/eu-central-1/s3/"));
  EXPECT_THAT(service_->sent()[2].Header("authorization"), HasSubstr("/eu-central-1/s3/"));
}

TEST_F(S3ClientTest, ReadsRegionFromErrorMessage) {
  service_->Answer(
      400,
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization header is malformed; the "
      "region is wrong; expecting 'garage'.</Message></Error>");
  service_->Answer(200);
  EXPECT_TRUE(Send(*Client()).ok());
  EXPECT_THAT(service_->sent()[1].Header("authorization"), HasSubstr("/garage/s3/"));
}

TEST_F(S3ClientTest, FollowsOnceAndThenNamesTheSetting) {
  for (const char* region : {"eu-central-1", "eu-central-2", "eu-central-3"}) {
    service_->Answer(301, "<Error><Code>PermanentRedirect</Code><Message>m</Message></Error>",
                     {{"x-amz-bucket-region", region}});
  }
  const Status status = Refused(*Client());
  EXPECT_EQ(NumRequests(), 2u);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("in region eu-central-2: set spec.storage.s3.region"));
}

TEST_F(S3ClientTest, RefusesInvalidRegion) {
  service_->Answer(301);
  service_->Answer(307, "", {{"location", "http://elsewhere.test/"}});
  service_->Answer(301, "", {{"x-amz-bucket-region", "evil/../region\r\n"}});
  service_->Answer(301, "", {{"x-amz-bucket-region", "us-east-1"}});  // the region of the request
  const auto client = Client();
  for (size_t i = 1; i <= 4; ++i) {
    const Status status = Refused(*client);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(status.message(), HasSubstr("check the region and the endpoint"));
    EXPECT_EQ(NumRequests(), i);
  }
}

// Adds the response of Backblaze B2 before July 2025 to checksums.
void RefuseChecksums(ScriptedTransport& service) {
  service.Answer(400,
                 "<Error><Code>InvalidArgument</Code><Message>Unsupported header 'x-amz-checksum-crc32' received for "
                 "this API call.</Message></Error>");
}

TEST_F(S3ClientTest, OmitsRefusedChecksumsAndKeepsOmitting) {
  RefuseChecksums(*service_);
  service_->Answer(200);
  service_->Answer(200);
  service_->Answer(200);
  const std::string body = "12345678";
  const auto client = Client();
  const S3Call put{.request = PutObjectRequest("k", std::as_bytes(std::span(body)))};
  EXPECT_TRUE(Send(*client, put).ok());
  EXPECT_TRUE(Send(*client, put).ok());
  EXPECT_TRUE(Send(*client).ok());
  ASSERT_EQ(NumRequests(), 4u);
  EXPECT_NE(service_->sent()[0].Header("x-amz-checksum-crc32"), "");
  EXPECT_EQ(service_->sent()[1].Header("x-amz-checksum-crc32"), "");
  EXPECT_EQ(service_->sent()[1].body, body);
  EXPECT_EQ(service_->sent()[2].Header("x-amz-checksum-crc32"), "");
  EXPECT_EQ(service_->sent()[3].Header("x-amz-checksum-mode"), "ENABLED") << "of downloads it has said nothing";
  EXPECT_TRUE(clock_.slept().empty());
}

TEST_F(S3ClientTest, OmitsChecksumsOnceIfErrorRemains) {
  RefuseChecksums(*service_);
  RefuseChecksums(*service_);
  const std::string body = "12345678";
  const auto client = Client();
  const Status status = Send(*client, {.request = PutObjectRequest("k", std::as_bytes(std::span(body)))}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("AWS_REQUEST_CHECKSUM_CALCULATION"));
  EXPECT_EQ(NumRequests(), 2u);
  service_->Answer(200);
  EXPECT_TRUE(Send(*client, {.request = PutObjectRequest("k", std::as_bytes(std::span(body)))}).ok());
  EXPECT_NE(service_->sent()[2].Header("x-amz-checksum-crc32"), "") << "they were not what was refused";
}

TEST_F(S3ClientTest, DisabledChecksumsAreNeitherSentNorRequested) {
  S3Client client(service_, std::make_unique<NumberedCredentials>(true),
                  S3ClientOptions{.request_checksums = S3Checksums::kWhenRequired,
                                  .response_checksums = S3Checksums::kWhenRequired,
                                  .clock = &clock_});
  const std::vector<UploadedPart> parts = {{1, "\"x\"", 7}};
  const std::string body = "12345678";
  const auto bytes = std::as_bytes(std::span(body));
  for (const S3Request& request :
       {PutObjectRequest("k", bytes), CreateMultipartUploadRequest("k", "me"), UploadPartRequest("k", "id", 1, bytes),
        CompleteMultipartUploadRequest("k", "id", parts, 9), GetObjectRequest("k")}) {
    service_->Answer(200);
    ASSERT_TRUE(Send(client, {.request = request}).ok());
    const SentRequest sent = service_->sent().back();
    for (const auto& [name, value] : sent.headers) EXPECT_THAT(name, Not(HasSubstr("checksum"))) << request.operation;
    EXPECT_THAT(sent.body, Not(HasSubstr("Checksum"))) << request.operation;
  }
}

TEST_F(S3ClientTest, RetriesDamagedBodyWithLimit) {
  for (int i = 0; i < 2; ++i) AnswerError(400, "BadDigest");
  service_->Answer(200);
  const auto client = Client();
  EXPECT_TRUE(Send(*client).ok());
  for (int i = 0; i < 10; ++i) AnswerError(400, "XAmzContentChecksumMismatch");
  const Status status = Refused(*client);
  EXPECT_EQ(NumRequests(), 3u + 3u);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("refused 3 times with the same error"));
}

TEST_F(S3ClientTest, ExplainsMissingObjectOfHeadOnce) {
  service_->Answer(404);
  AnswerError(404, "NoSuchBucket");
  const S3Call head{.request = HeadObjectRequest("k"), .known_statuses = {404}};
  EXPECT_EQ(Send(*Client(), head).status().code(), StatusCode::kFailedPrecondition);

  service_->Answer(404);
  AnswerError(404, "NoSuchKey");
  service_->Answer(404);
  const auto client = Client();
  EXPECT_EQ(Send(*client, head)->status, 404);
  EXPECT_EQ(Send(*client, head)->status, 404);
  ASSERT_EQ(NumRequests(), 5u) << "the bucket is known by then";
  EXPECT_EQ(service_->sent()[3].method, "GET");
  EXPECT_EQ(service_->sent()[4].method, "HEAD");
}

// S3 explains the refusal of a GET in the body. The response of a proxy for an unknown path may be empty.
TEST_F(S3ClientTest, EmptyResponseToGetIsNotS3) {
  const S3Call head{.request = HeadObjectRequest("k"), .known_statuses = {404}};
  service_->Answer(404);
  service_->Answer(404);
  const Status empty = Send(*Client(), head).status();
  EXPECT_EQ(empty.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(empty.message(),
              HasSubstr("the service responded with 404; the response is not from an S3 service: check "
                        "spec.storage.s3.endpoint, or AWS_ENDPOINT_URL_S3"));
  service_->Answer(404);
  service_->Answer(404, "", {{"x-amz-request-id", "R1"}});
  EXPECT_EQ(Send(*Client(), head)->status, 404) << "some stores explain nothing";
  service_->Answer(404);
  EXPECT_EQ(Send(*Client(), {.request = DeleteObjectRequest("k"), .known_statuses = {404}})->status, 404);
}

TEST_F(S3ClientTest, Json404IsNotS3) {
  for (const S3Request& request : {GetObjectRequest("k"), PutObjectRequest("k", {})}) {
    service_->Answer(404, "{\"error\":\"no such path\"}", {{"content-type", "application/json"}});
    const Status status = Send(*Client(), {.request = request, .known_statuses = {404}}).status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(status.message(), HasSubstr("the response is not from an S3 service"));
  }
}

TEST_F(S3ClientTest, WebPageIsNotS3) {
  const http::Headers page = {{"content-type", "text/html; charset=utf-8"}, {"etag", "\"1\""}, {"content-length", "6"}};
  const S3Call head{.request = HeadObjectRequest("k"), .known_statuses = {404}};
  service_->Answer(200, "", page);
  EXPECT_EQ(Send(*Client(), head).status().code(), StatusCode::kUnimplemented);
  service_->Answer(404);  // to HEAD
  service_->Answer(206, "<h", page);
  EXPECT_EQ(Send(*Client(), head).status().code(), StatusCode::kUnimplemented);
  service_->Answer(200, "<html>", page);
  const Status status = Refused(*Client());
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(),
              HasSubstr("a web server responded instead of an S3 service: check spec.storage.s3.endpoint"));
  http::Headers object = page;
  object.emplace_back("x-amz-request-id", "R1");
  service_->Answer(200, "<html>", object);
  EXPECT_TRUE(Send(*Client()).ok()) << "an object that is a page";
}

TEST_F(S3ClientTest, AcceptsUnexplainedHead) {
  service_->Answer(404);
  service_->Fail(Unavailable("reset"));
  EXPECT_EQ(Send(*Client(), {.request = HeadObjectRequest("k"), .known_statuses = {404}})->status, 404);
}

// Go's servers and nginx report a plain request to a TLS port as text or HTML, not as an S3 error. The message quotes
// it.
TEST_F(S3ClientTest, ForwardsErrorOfTlsPort) {
  service_->Answer(400, "Client sent an HTTP request to an HTTPS server.\n");
  service_->Answer(400, "<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>");
  const auto client = Client();
  for (int i = 1; i <= 2; ++i) {
    const Status status = Refused(*client);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(status.message(), ::testing::ContainsRegex("HTTP request .*; the port expects https://"));
    EXPECT_EQ(NumRequests(), static_cast<size_t>(i));
  }
}

TEST_F(S3ClientTest, MissingBucketOrKeyIdIsNoMissingObject) {
  AnswerError(404, "NoSuchBucket");
  AnswerError(404, "InvalidAccessKeyId");
  const auto client = Client(/*is_renewable=*/false);
  EXPECT_EQ(Send(*client, {.known_statuses = {404}}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Send(*client, {.known_statuses = {404}}).status().code(), StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace espalier::storage
