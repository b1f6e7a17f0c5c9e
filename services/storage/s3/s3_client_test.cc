#include "services/storage/s3/s3_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/testing/s3_client_fixture.h"

namespace espalier::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(S3ClientTest, RetriesWithBackoff) {
  service_->Answer(503);
  AnswerError(503, "SlowDown");
  service_->Answer(429);
  AnswerError(500, "InternalError");
  service_->Fail(Unavailable("reset"));
  service_->Fail(DeadlineExceeded("slow"));
  service_->Answer(200, "bytes");

  const Result<http::Response> response = Send(*Client());

  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body, "bytes");
  const std::vector<std::chrono::nanoseconds> slept = clock_.slept();
  ASSERT_EQ(slept.size(), 6u);
  milliseconds step(50);
  for (const auto& delay : slept) {
    EXPECT_GE(delay, step / 2);
    EXPECT_LE(delay, step);
    step *= 2;
  }
}

TEST_F(S3ClientTest, FailsWithinMinuteWithReason) {
  const SteadyTime start = clock_.Now();
  for (int i = 0; i < 40; ++i) AnswerError(503, "SlowDown");
  const Status status = Refused(*Client());
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("reading s3://b/k: the service responded with 503 SlowDown"));
  EXPECT_THAT(status.message(), ::testing::ContainsRegex("gave up after (1[0-9]|2[0-9]) requests"));
  EXPECT_EQ(clock_.Now() - start, seconds(30)) << "neither sooner nor later than promised";
}

TEST_F(S3ClientTest, StartsNoRequestAfterItsBudget) {
  for (int i = 0; i < 20; ++i) {
    service_->Add([this](const SentRequest&) -> Result<http::Response> {
      clock_.Advance(seconds(15));  // a stall
      return DeadlineExceeded("slow");
    });
  }
  const SteadyTime start = clock_.Now();
  EXPECT_EQ(Refused(*Client()).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(NumRequests(), 2u);
  EXPECT_LT(clock_.Now() - start, seconds(60));
}

// A part of 128 MiB at 3 MB/s takes 43 s. A failure after that time does not mean that the service is silent.
TEST_F(S3ClientTest, RetriesLongTransferAfterFailure) {
  service_->Add([this](const SentRequest&) -> Result<http::Response> {
    clock_.Advance(seconds(43));
    return Unavailable("reset");
  });
  service_->Answer(200);
  S3Call call;
  call.transfer_bytes = uint64_t{128} << 20;
  const Result<http::Response> response = Send(*Client(), std::move(call));
  EXPECT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(NumRequests(), 2u);
}

TEST_F(S3ClientTest, CallsToHangingServiceShareBudget) {
  Hang(20);
  const auto client = Client();
  const seconds first = TimeToFail(*client);
  EXPECT_GE(first, seconds(28));
  EXPECT_LE(first, seconds(31));
  EXPECT_EQ(NumRequests(), 2u);
  for (int call = 0; call < 5; ++call) {
    EXPECT_EQ(TimeToFail(*client), seconds(5));
    EXPECT_EQ(NumRequests(), 3u + call) << "each looks once whether the service is back";
  }
  EXPECT_THAT(Refused(*client).message(),
              ::testing::ContainsRegex("gave up after 1 request, no response for 6[0-2] s"));
}

TEST_F(S3ClientTest, AnyResponseResetsBudget) {
  Hang(4);
  const auto client = Client();
  TimeToFail(*client);
  EXPECT_EQ(TimeToFail(*client), seconds(5));
  EXPECT_EQ(TimeToFail(*client), seconds(5));
  AnswerError(403, "AccessDenied");
  EXPECT_THAT(Refused(*client).message(), Not(HasSubstr("no response")));
  Hang(1);
  service_->Answer(200);
  EXPECT_TRUE(Send(*client).ok()) << "15 s of silence are no failure";
}

TEST_F(S3ClientTest, LateCallReachesRecoveredService) {
  Hang(2);
  const auto client = Client();
  TimeToFail(*client);
  service_->Answer(503);
  service_->Fail(Unavailable("reset"));
  service_->Answer(200);
  EXPECT_TRUE(Send(*client).ok());
}

TEST_F(S3ClientTest, RetriesRefusedConnectionsWithinBudget) {
  for (const int patience : {1, 3, 120}) {
    S3Client client(
        service_, std::make_unique<NumberedCredentials>(true),
        S3ClientOptions{.retry_budget = seconds(patience), .clock = &clock_, .now = [this] { return now_; }});
    for (int i = 0; i < 200; ++i) service_->Fail(Unavailable("connection refused"));
    const SteadyTime start = clock_.Now();
    EXPECT_EQ(Refused(client).code(), StatusCode::kUnavailable);
    EXPECT_EQ(clock_.Now() - start, seconds(patience));
  }
}

TEST_F(S3ClientTest, RefusedConnectionsCountAsSilence) {
  const auto client = Client();
  const SteadyTime start = clock_.Now();
  for (int i = 0; i < 200; ++i) service_->Fail(Unavailable("connection refused"));
  std::vector<size_t> requests;
  for (int call = 0; call < 6; ++call) {
    const size_t before = NumRequests();
    EXPECT_EQ(Refused(*client).code(), StatusCode::kUnavailable);
    requests.push_back(NumRequests() - before);
    if (call == 0) {
      EXPECT_EQ(clock_.Now() - start, seconds(30));
    }
  }
  EXPECT_GT(requests.front(), 10u);
  EXPECT_LT(requests.back(), 10u);
  EXPECT_LT(clock_.Now() - start, seconds(65));
}

TEST_F(S3ClientTest, ErrorResponsesAreNoSilence) {
  const auto client = Client();
  for (int i = 0; i < 10; ++i) service_->Fail(FailedPrecondition("certificate"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Refused(*client).message(), Not(HasSubstr("no response")));
    clock_.Advance(seconds(10));
  }
  Hang(2);
  EXPECT_GE(TimeToFail(*client), seconds(28));
}

TEST_F(S3ClientTest, HonorsRetryAfterWithLimit) {
  service_->Answer(503, "", {{"retry-after", "2"}});
  service_->Answer(503, "", {{"retry-after", "86400"}});
  service_->Answer(503, "", {{"retry-after", "-5"}});
  service_->Answer(200);
  EXPECT_TRUE(Send(*Client()).ok());
  EXPECT_EQ(clock_.slept()[0], seconds(2));
  EXPECT_EQ(clock_.slept()[1], seconds(10));
  EXPECT_LT(clock_.slept()[2], seconds(1));
}

TEST_F(S3ClientTest, DoesNotRetryPermanentErrors) {
  AnswerError(403, "AccessDenied");
  AnswerError(404, "NoSuchKey");
  AnswerError(403, "SignatureDoesNotMatch");
  service_->Fail(FailedPrecondition("certificate"));
  const auto client = Client();
  EXPECT_EQ(Refused(*client).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Refused(*client).code(), StatusCode::kNotFound);
  EXPECT_EQ(Refused(*client).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Refused(*client).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(NumRequests(), 4u);
}

TEST_F(S3ClientTest, RenewsExpiredCredentialsOnce) {
  AnswerError(400, "ExpiredToken");
  service_->Answer(200);
  const auto client = Client();
  EXPECT_TRUE(Send(*client).ok());
  EXPECT_THAT(service_->sent()[0].Header("authorization"), HasSubstr("Credential=id1/"));
  EXPECT_THAT(service_->sent()[1].Header("authorization"), HasSubstr("Credential=id2/"));
  EXPECT_TRUE(clock_.slept().empty());

  AnswerError(400, "ExpiredToken");
  AnswerError(400, "ExpiredToken");
  EXPECT_EQ(Refused(*client).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(NumRequests(), 4u);
}

TEST_F(S3ClientTest, CannotRenewCredentialsOfTheEnvironment) {
  AnswerError(400, "ExpiredToken");
  EXPECT_EQ(Refused(*Client(/*is_renewable=*/false)).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(NumRequests(), 1u);
}

TEST_F(S3ClientTest, RefusalOfHeadRenewsCredentials) {
  service_->Answer(403);
  service_->Answer(403);
  EXPECT_EQ(Send(*Client(), {.request = HeadObjectRequest("k")}).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(NumRequests(), 2u);
}

TEST_F(S3ClientTest, AdjustsClockOnce) {
  now_ = *ParseHttpDate("Sun, 30 Aug 2015 11:00:00 GMT");
  AnswerError(403, "RequestTimeTooSkewed", {{"date", "Sun, 30 Aug 2015 12:36:00 GMT"}});
  service_->Answer(200);
  service_->Answer(200);
  const auto client = Client();
  EXPECT_TRUE(Send(*client).ok());
  EXPECT_EQ(service_->sent()[0].Header("x-amz-date"), "20150830T110000Z");
  EXPECT_EQ(service_->sent()[1].Header("x-amz-date"), "20150830T123600Z");
  EXPECT_TRUE(Send(*client).ok());
  EXPECT_EQ(service_->sent()[2].Header("x-amz-date"), "20150830T123600Z") << "and remembers";

  AnswerError(403, "RequestTimeTooSkewed", {{"date", "Sun, 30 Aug 2015 12:36:00 GMT"}});
  AnswerError(403, "RequestTimeTooSkewed", {{"date", "Sun, 30 Aug 2015 12:36:00 GMT"}});
  EXPECT_EQ(Refused(*client).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(NumRequests(), 5u);
}

TEST_F(S3ClientTest, RefusalOfHeadAdjustsClock) {
  now_ = *ParseHttpDate("Sun, 30 Aug 2015 11:00:00 GMT");
  service_->Answer(403, "", {{"date", "Sun, 30 Aug 2015 12:36:00 GMT"}});
  service_->Answer(200);
  EXPECT_TRUE(Send(*Client(/*is_renewable=*/false), {.request = HeadObjectRequest("k")}).ok());
}

TEST_F(S3ClientTest, ReturnsExpectedStatusCodes) {
  service_->Answer(412);
  const Result<http::Response> response = Send(*Client(), {.known_statuses = {404, 412}});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 412);
}

TEST_F(S3ClientTest, RetriesIfCheckFails) {
  service_->Answer(200, "bad");
  service_->Answer(200, "good");
  const auto check = [](const http::Response& response) {
    return response.body == "good" ? Status() : DataLoss("checksum");
  };
  EXPECT_EQ(Send(*Client(), {.check = check})->body, "good");
  for (int i = 0; i < 10; ++i) service_->Answer(200, "bad");
  EXPECT_EQ(Send(*Client(), {.check = check}).status().code(), StatusCode::kDataLoss);
}

TEST_F(S3ClientTest, CountsEveryRequestByOperationAndCode) {
  telemetry::MetricRegistry registry;
  metrics_ = std::make_shared<RequestMetrics>(registry);
  service_->Answer(503);
  service_->Answer(503);
  service_->Fail(DeadlineExceeded("slow"));
  service_->Answer(200, "bytes");
  ASSERT_TRUE(Send(*Client()).ok());
  service_->Answer(200);
  const std::string body = "12345678";
  ASSERT_TRUE(Send(*Client(), {.request = UploadPartRequest("k", "id", 1, std::as_bytes(std::span(body)))}).ok());

  const std::string text = registry.Serialize();
  for (const char* line : {"espalier_storage_requests_total{code=\"503\",operation=\"GetObject\"} 2",
                           "espalier_storage_requests_total{code=\"DEADLINE_EXCEEDED\",operation=\"GetObject\"} 1",
                           "espalier_storage_requests_total{code=\"200\",operation=\"GetObject\"} 1",
                           "espalier_storage_requests_total{code=\"200\",operation=\"UploadPart\"} 1",
                           "espalier_storage_request_seconds_count{operation=\"GetObject\"} 4",
                           "espalier_storage_received_bytes_total{operation=\"GetObject\"} 5",
                           "espalier_storage_sent_bytes_total{operation=\"UploadPart\"} 8"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(S3ClientTest, WaitForResponseIsLimitedByBudget) {
  S3Client client(service_, std::make_unique<NumberedCredentials>(true),
                  S3ClientOptions{.retry_budget = seconds(2), .clock = &clock_, .now = [this] { return now_; }});
  service_->Answer(200);
  ASSERT_TRUE(Send(client).ok());
  EXPECT_LE(service_->sent()[0].deadline->Remaining(clock_), seconds(2));
  EXPECT_EQ(service_->sent()[0].stall_timeout, seconds(2));
}

TEST_F(S3ClientTest, ErrorsHaveNoSecrets) {
  for (int i = 0; i < 40; ++i) service_->Fail(Unavailable("reset"));
  const std::string message = Refused(*Client()).ToString();
  EXPECT_THAT(message, Not(HasSubstr("hush")));
  EXPECT_THAT(service_->sent()[0].Header("authorization"), Not(HasSubstr("hush")));
}

TEST_F(S3ClientTest, FailsAtOnceWithoutCredentials) {
  S3Client client(service_, MakeSharedFileSource("/no/such/file", "default"), {.clock = &clock_});
  const Status status = Refused(client);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("reading s3://b/k: getting credentials from the shared file /no/such/file"));
  EXPECT_EQ(NumRequests(), 0u);
}

}  // namespace
}  // namespace espalier::storage