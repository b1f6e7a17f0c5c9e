// An S3Client with a scripted service, for tests of its retries and errors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "services/base/testing/fake_clock.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/s3_client.h"
#include "services/storage/testing/scripted_transport.h"

namespace espalier::storage {

// Returns credentials "id1", "id2", ...; renewable if a test requests it.
class NumberedCredentials final : public CredentialSource {
 public:
  explicit NumberedCredentials(bool is_renewable) : is_renewable_(is_renewable) {}
  std::string Describe() const override { return "test"; }
  bool IsRenewable() const override { return is_renewable_; }
  Result<Credentials> Fetch(Deadline) override {
    return Credentials{
        "id" + std::to_string(++number_), telemetry::Secret("hush-secret"), telemetry::Secret("hush-token"), {}};
  }

 private:
  const bool is_renewable_;
  int number_ = 0;
};

class S3ClientTest : public ::testing::Test {
 protected:
  std::unique_ptr<S3Client> Client(bool is_renewable = true) {
    return std::make_unique<S3Client>(
        service_, std::make_unique<NumberedCredentials>(is_renewable),
        S3ClientOptions{.clock = &clock_, .now = [this] { return now_; }, .jitter_seed = 7, .metrics = metrics_});
  }
  static Result<http::Response> Send(S3Client& client, S3Call call = {}) {
    const S3Bucket bucket{.scheme = "http", .host = "s3.test", .path_prefix = "/b", .name = "b", .region = "us-east-1"};
    if (call.request.method.empty()) call.request = GetObjectRequest("k");
    call.doing = "reading s3://b/k";
    return client.Send(bucket, call);
  }
  Status Refused(S3Client& client) { return Send(client).status(); }
  void AnswerError(int status, const std::string& code, http::Headers headers = {}) {
    service_->Answer(status, "<Error><Code>" + code + "</Code><Message>m</Message></Error>", std::move(headers));
  }
  size_t NumRequests() const { return service_->sent().size(); }
  // The service accepts the next `num_requests` requests and does not respond.
  void Hang(int num_requests) {
    for (int i = 0; i < num_requests; ++i) {
      service_->Add([this](const SentRequest& request) -> Result<http::Response> {
        clock_.Advance(std::min<std::chrono::nanoseconds>(request.stall_timeout, request.deadline->Remaining(clock_)));
        return DeadlineExceeded("too slow");
      });
    }
  }
  // Returns how long a call takes that gets no response.
  std::chrono::seconds TimeToFail(S3Client& client) {
    const SteadyTime start = clock_.Now();
    EXPECT_EQ(Refused(client).code(), StatusCode::kDeadlineExceeded);
    return std::chrono::duration_cast<std::chrono::seconds>(clock_.Now() - start);
  }

  std::shared_ptr<ScriptedTransport> service_ = std::make_shared<ScriptedTransport>();
  FakeClock clock_;
  std::shared_ptr<RequestMetrics> metrics_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

}  // namespace espalier::storage
