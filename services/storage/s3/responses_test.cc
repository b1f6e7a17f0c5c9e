#include "services/storage/s3/responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/s3/errors.h"

namespace espalier::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(S3ResponseTest, ReadsAPageOfAListing) {
  const Result<ListPage> page = ParseListPage(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
      "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>t/1=</"
      "NextContinuationToken>"
      "<Contents><Key>dir/a+b%2Bc%C3%A4</Key><Size>12</Size><ETag>&quot;e&quot;</ETag></Contents>"
      "<Contents><Key>z</Key><Size>0</Size></Contents></ListBucketResult>");

  ASSERT_TRUE(page.ok()) << page.status().ToString();
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "dir/a b+c\xc3\xa4");
  EXPECT_EQ(page->objects[0].size_bytes, 12u);
  EXPECT_EQ(page->objects[0].etag, "\"e\"");
  EXPECT_EQ(page->continuation_token, "t/1=");
}

TEST(S3ResponseTest, ReadsUnencodedKeys) {
  const Result<ListPage> page =
      ParseListPage("<ListBucketResult><Contents><Key>a+b%41</Key><Size>1</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->objects[0].key, "a+b%41");
}

TEST(S3ResponseTest, RefusesInvalidListings) {
  for (const char* body :
       {"", "no xml", "<ListBucketResult>", "<ListBucketResult><Contents><Key>k</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>k</Key><Size>99999999999999999999</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    EXPECT_EQ(ParseListPage(body).status().code(), StatusCode::kDataLoss) << body;
  }
  EXPECT_FALSE(ParseListPage("<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%4</Key><Size>1</Size>"
                             "</Contents></ListBucketResult>")
                   .ok());
}

TEST(S3ResponseTest, ToleratesDeepNesting) {
  std::string body = "<ListBucketResult>";
  for (int i = 0; i < 100000; ++i) body += "<a>";
  EXPECT_EQ(ParseListPage(body).status().code(), StatusCode::kDataLoss);
}

http::Response WithHeader(const std::string& name, const std::string& value) { return {206, {{name, value}}, "", 0}; }

TEST(S3ResponseTest, ReadsContentRanges) {
  const Result<ContentRange> range = ParseContentRange(WithHeader("content-range", "bytes 3-6/10"));
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->first, 3u);
  EXPECT_EQ(range->last, 6u);
  EXPECT_EQ(range->total, 10u);
  for (const char* text : {"", "bytes */10", "bytes 6-3/10", "bytes 3-10/10", "bytes 3-6/*", "3-6/10", "bytes 3-6"}) {
    EXPECT_EQ(ParseContentRange(WithHeader("content-range", text)).status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(S3ResponseTest, DetectsFlippedBit) {
  http::Response response{200, {{"x-amz-checksum-crc32", "y/Q5Jg=="}}, "123456789", 0};
  EXPECT_TRUE(CheckCrc32(response).ok());
  response.body[3] ^= 1;
  EXPECT_EQ(CheckCrc32(response).code(), StatusCode::kDataLoss);
  response.headers = {{"x-amz-checksum-crc32", "y/Q5Jg==-2"}};  // not a checksum of the whole object: of two parts
  EXPECT_TRUE(CheckCrc32(response).ok());
  response.headers = {{"x-amz-checksum-crc32", "y/Q5Jg=="}, {"x-amz-checksum-type", "COMPOSITE"}};
  EXPECT_TRUE(CheckCrc32(response).ok());
}

TEST(S3ResponseTest, RecognizesCompletedUpload) {
  EXPECT_TRUE(IsCompletedUpload("<?xml version=\"1.0\"?>\n\n   <CompleteMultipartUploadResult/>"));
  EXPECT_FALSE(IsCompletedUpload("<Error><Code>InternalError</Code></Error>"));
  EXPECT_FALSE(IsCompletedUpload(""));
}

TEST(S3ResponseTest, ReadsKeysThatWereNotDeleted) {
  const auto failures = ParseDeleteResult(
      "<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code><Message>m</Message></Error></DeleteResult>");
  ASSERT_TRUE(failures.ok());
  ASSERT_EQ(failures->size(), 1u);
  EXPECT_EQ((*failures)[0].code, "AccessDenied");
}

http::Response Refusal(int status, const std::string& code, const std::string& message = "m") {
  return {status, {}, "<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>", 0};
}

TEST(S3ErrorTest, HasRemedy) {
  const auto remedy = [](int status, const std::string& code) { return RemedyFor(ParseError(Refusal(status, code))); };
  EXPECT_EQ(remedy(503, "SlowDown"), Remedy::kRetry);
  EXPECT_EQ(remedy(429, ""), Remedy::kRetry);
  EXPECT_EQ(remedy(529, ""), Remedy::kRetry);  // a status of some gateways
  EXPECT_EQ(remedy(501, "NotImplemented"), Remedy::kNone);
  EXPECT_EQ(remedy(400, "RequestTimeout"), Remedy::kRetry);
  EXPECT_EQ(remedy(400, "BadDigest"), Remedy::kResend);
  EXPECT_EQ(remedy(409, "ConditionalRequestConflict"), Remedy::kRetry);
  EXPECT_EQ(remedy(200, "InternalError"), Remedy::kRetry);
  EXPECT_EQ(remedy(400, "ExpiredToken"), Remedy::kRenew);
  EXPECT_EQ(remedy(403, "InvalidTokenId"), Remedy::kRenew);
  EXPECT_EQ(remedy(403, "RequestTimeTooSkewed"), Remedy::kSetClock);
  EXPECT_EQ(remedy(403, "AccessDenied"), Remedy::kNone);
  EXPECT_EQ(remedy(403, "SignatureDoesNotMatch"), Remedy::kNone);
  EXPECT_EQ(remedy(404, "NoSuchKey"), Remedy::kNone);
  EXPECT_EQ(RemedyFor(ParseError({403, {}, "", 0})), Remedy::kRenew);  // HEAD: the token may have expired
}

TEST(S3ErrorTest, MapsErrorsToStatusCodes) {
  const auto code = [](int status, const std::string& name) {
    return ToStatus(ParseError(Refusal(status, name)), "x").code();
  };
  EXPECT_EQ(code(404, "NoSuchKey"), StatusCode::kNotFound);
  EXPECT_EQ(code(404, "NoSuchBucket"), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(403, "AccessDenied"), StatusCode::kPermissionDenied);
  EXPECT_EQ(code(400, "ExpiredToken"), StatusCode::kPermissionDenied);
  EXPECT_EQ(code(403, "RequestTimeTooSkewed"), StatusCode::kPermissionDenied);
  EXPECT_EQ(code(503, "SlowDown"), StatusCode::kUnavailable);
  EXPECT_EQ(code(403, "QuotaExceeded"), StatusCode::kResourceExhausted);
  EXPECT_EQ(code(416, "InvalidRange"), StatusCode::kOutOfRange);
  EXPECT_EQ(code(400, "KeyTooLongError"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(301, "PermanentRedirect"), StatusCode::kUnimplemented);
  EXPECT_EQ(code(400, "InvalidArgument"), StatusCode::kUnimplemented) << "of the service, not of the input";
}

// The responses of a web server on the port of the endpoint.
TEST(S3ErrorTest, RecognizesResponseOfOtherService) {
  const Status not_found =
      ToStatus(ParseError({404, {}, "<html><title>Not here</title></html>", 0}), "reading s3://b/k");
  EXPECT_EQ(not_found.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(not_found.message(),
              HasSubstr("responded with 404: Not here; the response is not from an S3 service: check "
                        "spec.storage.s3.endpoint"));
  EXPECT_FALSE(IsAboutTheObject(ParseError({404, {}, "404 page not found\n", 0})));
  EXPECT_TRUE(IsAboutTheObject(ParseError({404, {}, "", 0})));
  EXPECT_TRUE(IsAboutTheObject(ParseError({404, {}, "<Error><Message>no such key</Message></Error>", 0})));
  for (const char* page : {"<html></html>", "<!DOCTYPE HTML>\n<HTML><body>Log in</body></HTML>"}) {
    const Status listing = ParseListPage(page).status();
    EXPECT_EQ(listing.code(), StatusCode::kUnimplemented) << page;
    EXPECT_THAT(listing.message(), HasSubstr("check spec.storage.s3.endpoint")) << page;
  }
}

TEST(S3ErrorTest, HasMessageOfOneShortLine) {
  http::Response response = Refusal(301, "PermanentRedirect", "go\naway " + std::string(1000, 'x'));
  response.headers = {{"x-amz-bucket-region", "eu-west-1"}, {"x-amz-request-id", "R1"}};
  const std::string message = ToStatus(ParseError(response), "reading s3://b/k").message();
  EXPECT_THAT(message, HasSubstr("reading s3://b/k: the service responded with 301 PermanentRedirect: go away x"));
  EXPECT_THAT(message, HasSubstr("the bucket is in region eu-west-1: set spec.storage.s3.region"));
  EXPECT_THAT(message, HasSubstr("(request R1)"));
  EXPECT_LT(message.size(), 600u);
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

TEST(S3ErrorTest, ReadsErrorHeadersOfMinio) {
  const S3Error error = ParseError({400,
                                    {{"x-minio-error-code", "AuthorizationHeaderMalformed"},
                                     {"x-minio-error-desc", "\"the region is wrong; expecting 'eu-central-1'\""}},
                                    "",
                                    0});
  EXPECT_EQ(error.code, "AuthorizationHeaderMalformed");
  EXPECT_EQ(error.region, "eu-central-1");
}

TEST(S3ErrorTest, DistinguishesRefusedHeadersFromRefusedBytes) {
  const auto is_of_headers = [](int status, const std::string& code, const std::string& message) {
    return IsRefusalOfChecksums(ParseError(Refusal(status, code, message)));
  };
  EXPECT_TRUE(is_of_headers(400, "InvalidArgument", "Unsupported header 'x-amz-checksum-crc32' received"));
  EXPECT_TRUE(is_of_headers(501, "NotImplemented", "Header 'x-amz-checksum-algorithm' not implemented"));
  EXPECT_TRUE(is_of_headers(501, "NotImplemented", "A header you provided implies functionality that is not there"));
  EXPECT_FALSE(is_of_headers(400, "XAmzContentChecksumMismatch", "The x-amz-checksum header does not match"));
  EXPECT_FALSE(is_of_headers(400, "InvalidArgument", "m"));
  EXPECT_FALSE(is_of_headers(403, "AccessDenied", "checksum"));
  EXPECT_FALSE(is_of_headers(503, "SlowDown", "checksum"));
}

TEST(S3ErrorTest, OmitsQuotedRequest) {
  const http::Response response{403,
                                {},
                                "<Error><Code>SignatureDoesNotMatch</Code><Message>m</Message>"
                                "<CanonicalRequest>x-amz-security-token:hush</CanonicalRequest></Error>",
                                0};
  EXPECT_THAT(ToStatus(ParseError(response), "x").message(), Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace espalier::storage
