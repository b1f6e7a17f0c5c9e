// Tests the parsing of error responses, with and without Status objects, and their conversion to codes.
#include "operator/kube/api_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string StatusText(int code, const std::string& reason, const std::string& message = "m",
                       const Json& details = Json::object()) {
  return Print({{"apiVersion", "v1"},
                {"kind", "Status"},
                {"status", "Failure"},
                {"code", code},
                {"reason", reason},
                {"message", message},
                {"details", details}});
}

StatusCode CodeFor(int http_code, const std::string& body) { return ToStatus(ParseApiError(http_code, body)).code(); }

TEST(ApiErrorTest, ReadsAStatus) {
  const ApiError error = ParseApiError(
      422, R"({"kind":"Status","apiVersion":"v1","metadata":{"continue":"next"},"status":"Failure","reason":"Invalid",
               "message":"Job.batch \"x\" is invalid","code":422,"details":{"name":"x","retryAfterSeconds":2,
               "causes":[{"reason":"FieldValueInvalid","message":"Invalid value","field":"spec.template"}]}})");
  EXPECT_EQ(error.code, 422);
  EXPECT_EQ(error.reason, "Invalid");
  EXPECT_EQ(error.message, "Job.batch \"x\" is invalid");
  ASSERT_THAT(error.causes, SizeIs(1));
  EXPECT_EQ(error.causes[0].field, "spec.template");
  EXPECT_EQ(error.causes[0].reason, "FieldValueInvalid");
  EXPECT_EQ(error.retry_after, std::chrono::seconds(2));
  EXPECT_EQ(error.continue_token, "next");
  EXPECT_EQ(ToStatus(error), InvalidArgument("Job.batch \"x\" is invalid"));
}

TEST(ApiErrorTest, MapsCodeAndReasonToStatus) {
  struct Row {
    int code;
    const char* reason;
    StatusCode expected;
  };
  for (const Row& row : {Row{404, "NotFound", StatusCode::kNotFound},
                         Row{409, "AlreadyExists", StatusCode::kAlreadyExists},
                         Row{409, "Conflict", StatusCode::kAborted},
                         Row{412, "PreconditionFailed", StatusCode::kAborted},
                         Row{410, "Expired", StatusCode::kOutOfRange},
                         Row{410, "Gone", StatusCode::kOutOfRange},
                         Row{500, "Expired", StatusCode::kOutOfRange},
                         Row{401, "Unauthorized", StatusCode::kUnauthenticated},
                         Row{403, "Forbidden", StatusCode::kPermissionDenied},
                         Row{400, "BadRequest", StatusCode::kInvalidArgument},
                         Row{413, "RequestEntityTooLarge", StatusCode::kInvalidArgument},
                         Row{415, "UnsupportedMediaType", StatusCode::kInvalidArgument},
                         Row{422, "Invalid", StatusCode::kInvalidArgument},
                         Row{429, "TooManyRequests", StatusCode::kResourceExhausted},
                         Row{408, "", StatusCode::kUnavailable},
                         Row{500, "InternalError", StatusCode::kUnavailable},
                         Row{502, "", StatusCode::kUnavailable},
                         Row{503, "ServiceUnavailable", StatusCode::kUnavailable},
                         Row{504, "Timeout", StatusCode::kUnavailable},
                         Row{418, "", StatusCode::kUnknown},
                         Row{302, "", StatusCode::kUnknown}}) {
    EXPECT_EQ(CodeFor(row.code, StatusText(row.code, row.reason)), row.expected) << row.code << " " << row.reason;
  }
}

TEST(ApiErrorTest, ApplyWithUnknownFieldIsInvalidArgument) {
  const std::string message =
      "failed to create typed patch object (default/x; batch/v1, Kind=Job): .spec.x: field not declared in schema";
  EXPECT_EQ(CodeFor(500, StatusText(500, "", message)), StatusCode::kInvalidArgument);
}

TEST(ApiErrorTest, FutureVersionDiffersFromOtherTimeouts) {
  const Json details = {
      {"causes", {{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}}}};
  EXPECT_EQ(CodeFor(504, StatusText(504, "Timeout", "m", details)), StatusCode::kFailedPrecondition);
  EXPECT_EQ(CodeFor(504, StatusText(504, "Timeout")), StatusCode::kUnavailable);
}

TEST(ApiErrorTest, WatchErrorHasCodeInBody) {
  const ApiError error = ParseApiError(200, StatusText(410, "Expired"));
  EXPECT_EQ(error.code, 410);
  EXPECT_EQ(ToStatus(error).code(), StatusCode::kOutOfRange);
}

TEST(ApiErrorTest, FillsCodeAndReasonFromEachOther) {
  EXPECT_EQ(ParseStatusObject({{"reason", "NotFound"}}).code, 404);
  EXPECT_EQ(ParseStatusObject({{"code", 410}}).reason, "Expired");
  EXPECT_EQ(ParseStatusObject({{"code", 409}}).reason, "Conflict");
  EXPECT_EQ(ParseStatusObject({{"code", 99999}, {"reason", "Odd"}}).code, 0);
}

TEST(ApiErrorTest, KeepsOneLineOfOtherBodies) {
  const ApiError page = ParseApiError(502, "<html>\r\n<h1>Bad   Gateway</h1>\n</html>");
  EXPECT_EQ(page.message, "HTTP 502: <html> <h1>Bad Gateway</h1> </html>");
  EXPECT_EQ(page.reason, "") << "the response is not from Kubernetes";
  EXPECT_EQ(ToStatus(page).code(), StatusCode::kUnavailable);
  EXPECT_EQ(ToStatus(ParseApiError(404, "404 page not found\n")), NotFound("HTTP 404: 404 page not found"));
  EXPECT_EQ(ToStatus(ParseApiError(503, "")), Unavailable("HTTP 503"));
  EXPECT_EQ(ParseApiError(500, R"({"kind":"Pod"})").message, R"(HTTP 500: {"kind":"Pod"})");
  EXPECT_LT(ParseApiError(500, std::string(1'000'000, 'x')).message.size(), 300u);
}

TEST(ApiErrorTest, CutsLongMessagesBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "é";
  text.insert(0, "x");  // moves byte 4096 into the middle of a character
  const std::string message = ParseApiError(422, StatusText(422, "Invalid", text)).message;
  EXPECT_EQ(message.size(), 4095u + 3);
  EXPECT_THAT(message, EndsWith("é..."));
}

TEST(ApiErrorTest, BoundsCausesAndRetryAfter) {
  Json causes = Json::array();
  for (int i = 0; i < 1000; ++i) causes.push_back({{"field", "f"}});
  const ApiError error = ParseApiError(
      429, StatusText(429, "TooManyRequests", "m", {{"causes", causes}, {"retryAfterSeconds", INT64_MAX}}));
  EXPECT_THAT(error.causes, SizeIs(32));
  EXPECT_EQ(error.retry_after, std::chrono::hours(1));
  EXPECT_EQ(ParseApiError(429, StatusText(429, "", "m", {{"retryAfterSeconds", -1}})).retry_after, std::nullopt);
}

TEST(ApiErrorTest, HasMessageWithoutBody) {
  EXPECT_EQ(ToStatus(ParseStatusObject({{"code", 410}})).message(), "Expired");
  EXPECT_EQ(ToStatus(ParseStatusObject({{"code", 418}})).message(), "HTTP 418");
  EXPECT_THAT(ToStatus(ParseStatusObject(Json("not even an object"))).message(), HasSubstr("HTTP 0"));
  EXPECT_THAT(ParseStatusObject({{"details", {{"causes", {1, "x"}}}}}).causes, SizeIs(2));
  EXPECT_THAT(ParseStatusObject({{"details", "x"}}).causes, IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::kube
