// Compares with AWS's published examples: the suite aws-sig-v4-test-suite, and the four of the S3 API reference
// (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
#include "services/storage/s3/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/sha256.h"
#include "services/storage/s3/requests.h"

namespace espalier::storage {
namespace {

using telemetry::Secret;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const char* const kEmptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct SuiteCase {
  std::string name;
  std::string method = "GET";
  std::string path = "/";
  QueryParameters query;
  http::Headers headers;
  std::string body;
  std::string signed_headers = "host;x-amz-date";
  std::string signature;
};
void PrintTo(const SuiteCase& suite_case, std::ostream* out) { *out << suite_case.name; }

const SigningScope kSuiteScope{*ParseExtendedUtc("2015-08-30T12:36:00Z"), "us-east-1", "service"};
const Credentials kSuiteCredentials{"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), {}, {}};

class SigV4SuiteTest : public ::testing::TestWithParam<SuiteCase> {};

TEST_P(SigV4SuiteTest, SignsAsPublished) {
  const SuiteCase& given = GetParam();
  SignableRequest request{given.method, given.path, given.query, given.headers, Sha256Hex(given.body)};
  request.headers.emplace_back("Host", "example.amazonaws.com");
  request.headers.emplace_back("X-Amz-Date", "20150830T123600Z");

  EXPECT_EQ(Authorization(request, kSuiteScope, kSuiteCredentials),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
                given.signed_headers + ", Signature=" + given.signature);
}

const std::string kToken = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";

INSTANTIATE_TEST_SUITE_P(
    Published, SigV4SuiteTest,
    ::testing::Values(SuiteCase{.name = "get_vanilla",
                                .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
                      SuiteCase{.name = "get_unreserved",
                                .path = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                                .signature = "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
                      SuiteCase{.name = "get_utf8",
                                .path = "/\u1234",
                                .signature = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
                      SuiteCase{.name = "get_vanilla_query_order_key_case",
                                .query = {{"Param2", "value2"}, {"Param1", "value1"}},
                                .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
                      SuiteCase{.name = "get_vanilla_query_order_value",
                                .query = {{"Param1", "value2"}, {"Param1", "value1"}},
                                .signature = "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
                      SuiteCase{.name = "get_vanilla_utf8_query",
                                .query = {{"\u1234", "bar"}},
                                .signature = "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
                      SuiteCase{.name = "get_header_value_order",
                                .headers = {{"My-Header1", "value4"},
                                            {"My-Header1", "value1"},
                                            {"My-Header1", "value3"},
                                            {"My-Header1", "value2"}},
                                .signed_headers = "host;my-header1;x-amz-date",
                                .signature = "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
                      SuiteCase{
                          .name = "get_header_key_duplicate",
                          .headers = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
                          .signed_headers = "host;my-header1;x-amz-date",
                          .signature = "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
                      SuiteCase{.name = "get_header_value_trim",
                                .headers = {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
                                .signed_headers = "host;my-header1;my-header2;x-amz-date",
                                .signature = "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
                      SuiteCase{.name = "post_x_www_form_urlencoded",
                                .method = "POST",
                                .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                                .body = "Param1=value1",
                                .signed_headers = "content-type;host;x-amz-date",
                                .signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
                      SuiteCase{.name = "get_vanilla_with_session_token",
                                .headers = {{"X-Amz-Security-Token", kToken}},
                                .signed_headers = "host;x-amz-date;x-amz-security-token",
                                .signature = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"}),
    [](const auto& instance) { return instance.param.name; });

TEST(SigV4Test, ShowsTheStepsOfGetVanilla) {
  const SignableRequest request{
      "GET", "/", {}, {{"Host", "example.amazonaws.com"}, {"X-Amz-Date", "20150830T123600Z"}}, kEmptySha256};

  const std::string canonical = CanonicalRequest(request);

  EXPECT_EQ(canonical, std::string("GET\n/\n\nhost:example.amazonaws.com\nx-amz-date:20150830T123600Z\n\n"
                                   "host;x-amz-date\n") +
                           kEmptySha256);
  EXPECT_EQ(StringToSign(canonical, kSuiteScope),
            "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n"
            "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63");
}

const SigningScope kS3Scope{*ParseExtendedUtc("2013-05-24T00:00:00Z"), "us-east-1", "s3"};
const Credentials kS3Credentials{"AKIAIOSFODNN7EXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), {}, {}};

std::string SignatureOfS3Example(SignableRequest request) {
  request.headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  request.headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
  request.headers.emplace_back("x-amz-date", "20130524T000000Z");
  const std::string authorization = Authorization(request, kS3Scope, kS3Credentials);
  return authorization.substr(authorization.rfind('=') + 1);
}

TEST(SigV4Test, SignsTheExamplesOfTheS3Reference) {
  EXPECT_EQ(SignatureOfS3Example({"GET", "/test.txt", {}, {{"range", "bytes=0-9"}}, kEmptySha256}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(
      SignatureOfS3Example({"PUT",
                            "/test$file.text",
                            {},
                            {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                            Sha256Hex("Welcome to Amazon S3.")}),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(SignatureOfS3Example({"GET", "/", {{"lifecycle", ""}}, {}, kEmptySha256}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(SignatureOfS3Example({"GET", "/", {{"max-keys", "2"}, {"prefix", "J"}}, {}, kEmptySha256}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// Queries that the signer of curl 7.88 encodes incorrectly.
TEST(SigV4Test, CanonicalizesQueries) {
  EXPECT_EQ(CanonicalQuery({{"uploads", ""}}), "uploads=");
  EXPECT_EQ(CanonicalQuery({{"prefix", "a/b"}, {"list-type", "2"}}), "list-type=2&prefix=a%2Fb");
  EXPECT_EQ(CanonicalQuery({{"x", "a.b"}, {"x", "a/b"}}), "x=a%2Fb&x=a.b");  // sorted by encoded bytes: '%' < '.'
  EXPECT_EQ(CanonicalQuery({{"q", "a+b c=d&e"}}), "q=a%2Bb%20c%3Dd%26e");
  EXPECT_EQ(CanonicalQuery({}), "");
}

TEST(SigV4Test, EncodesPathsOnceAndNormalizesNothing) {
  EXPECT_EQ(CanonicalPath("/bucket/dt=2024/x"), "/bucket/dt%3D2024/x");
  EXPECT_EQ(CanonicalPath("/a b/100%/c+d"), "/a%20b/100%25/c%2Bd");
  EXPECT_EQ(CanonicalPath("/a//b/./c"), "/a//b/./c");
  EXPECT_EQ(CanonicalPath(""), "/");
}

TEST(SigV4Test, SignsTheDigestOfAStreamedBody) {
  const std::string body(100000, 'x');
  const S3Bucket bucket{.scheme = "https", .host = "s3.test", .path_prefix = "/b", .name = "b", .region = "us-east-1"};

  const http::Request sent = SignRequest(PutObjectRequest("k", std::as_bytes(std::span(body))), bucket, kS3Credentials,
                                         kS3Scope.time, Sha256Hex(body));

  EXPECT_THAT(sent.headers,
              ::testing::Contains(std::pair<std::string, std::string>("x-amz-content-sha256", Sha256Hex(body))));
  EXPECT_THAT(sent.headers.back().second,
              HasSubstr("SignedHeaders=host;x-amz-checksum-crc32;x-amz-content-sha256;x-amz-date, "));
}

TEST(TimeTextTest, RoundTrips) {
  EXPECT_EQ(FormatBasicUtc(*ParseExtendedUtc("2015-08-30T12:36:00Z")), "20150830T123600Z");
  EXPECT_EQ(ParseExtendedUtc("2015-08-30T12:36:00.123Z"), ParseExtendedUtc("2015-08-30T12:36:00Z"));
  EXPECT_EQ(ParseHttpDate("Sun, 30 Aug 2015 12:36:00 GMT"), ParseExtendedUtc("2015-08-30T12:36:00Z"));
  EXPECT_EQ(FormatBasicUtc(*ParseHttpDate("Thu, 29 Feb 2024 23:59:59 GMT")), "20240229T235959Z");
}

TEST(TimeTextTest, RefusesInvalidTimes) {
  for (const char* text : {"", "2015-08-30", "2015-02-30T12:36:00Z", "2015-08-30T24:36:00Z", "2015-08-30T12:36:00",
                           "2015-08-30T12:36:00+0Z", "2015-08-30T12:36:00.Z", "2015-08-30T12:36:00.abcZ",
                           "2015-08-30 12:36:00Z", "-015-08-30T12:36:00Z"}) {
    EXPECT_EQ(ParseExtendedUtc(text), std::nullopt) << text;
  }
  for (const char* text :
       {"", "Sun, 30 Aux 2015 12:36:00 GMT", "Sun, 30 Aug 2015 12:36:00 UTC", "Sunday, 30-Aug-15 12:36:00 GMT",
        "Sun Aug 30 12:36:00 2015", "Xyz, 30 Aug 2015 12:36:00 GMT", "Sun, 30-Aug-2015 12:36:00 GMT"}) {
    EXPECT_EQ(ParseHttpDate(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace espalier::storage
