// S3 operations that end well although requests fail: signs, sends, and tries again what may go better.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/backoff.h"
#include "services/base/clock.h"
#include "services/storage/request_metrics.h"
#include "services/storage/s3/credentials.h"
#include "services/storage/s3/errors.h"
#include "services/storage/s3/requests.h"
#include "services/storage/s3/service_silence.h"
#include "services/storage/s3/service_traits.h"

namespace espalier::storage {

struct S3ClientOptions {
  // `max_attempts` limits responses that S3Call::check rejects; `retry_budget` limits retries of transient errors.
  RetryPolicy retry{
      .max_attempts = 10, .initial_delay = std::chrono::milliseconds(50), .max_delay = std::chrono::milliseconds(3000)};
  // No request of a call starts later than this after its first one, nor is an answer awaited for longer; time in which
  // bytes moved does not count. While the service says nothing at all, calls share this time (service_silence.h).
  std::chrono::seconds retry_budget{30};
  S3Checksums request_checksums = S3Checksums::kWhenSupported;
  S3Checksums response_checksums = S3Checksums::kWhenSupported;
  Clock* clock = &Clock::Real();  // outlives the client
  WallClock now = SystemTime;
  uint64_t jitter_seed = 0;                 // 0: a random one
  std::shared_ptr<RequestMetrics> metrics;  // null: nothing is counted
};

// An operation with what its answers must be like.
struct S3Call {
  S3Request request;
  std::string doing;  // "reading s3://bucket/key": the context of errors
  size_t max_body_bytes = size_t{1} << 20;
  std::span<std::byte> into;           // see http::SendOptions
  uint64_t transfer_bytes = 0;         // of the bodies: large ones get more time
  std::chrono::seconds extra_time{0};  // that the service may need before it answers
  std::vector<int> known_statuses;     // beside 2xx: handed back as answers, not errors
  int max_attempts = 0;                // of all requests; 0: retry_budget limits them
  // Looks at a 2xx answer: DataLoss and retryable errors have the request sent again.
  std::function<Status(const http::Response&)> check;
};

// Thread-safe. Serves all buckets of one service with one set of credentials.
class S3Client {
 public:
  S3Client(std::shared_ptr<http::Transport> transport, std::unique_ptr<CredentialSource> credentials,
           S3ClientOptions options = {});

  // Requests that fail by 5xx, 429, SlowDown and the like, resets, timeouts or `check` are sent again with growing,
  // jittered delays. A body that arrives damaged is sent three times in all. Once per call: refused credentials are
  // renewed, a wrong clock is corrected by the service's own, a request for the wrong region is sent to the region that
  // the service names, and refused x-amz-checksum-* headers are left out. The last three are remembered for the
  // service. Errors: NotFound, PermissionDenied, ..., and the last one's when nothing helped, with the number of
  // requests and the time for which the service has not answered.
  Result<http::Response> Send(const S3Bucket& bucket, const S3Call& call);

  // Requests sent so far, the repeated ones too.
  int64_t num_requests() const { return num_requests_.load(std::memory_order_relaxed); }

 private:
  struct Progress;
  struct Outcome;
  Outcome Try(const S3Bucket& bucket, const S3Call& call, Deadline end, Progress& progress);
  http::Response ExplainRefusalOfHead(http::Response response, const S3Bucket& bucket, const S3Call& call,
                                      const Credentials& credentials, const http::SendOptions& how);
  Result<http::Response> SendOnce(const http::Request& request, const std::string& operation,
                                  const http::SendOptions& options);
  void NoteAnswer(const Status& status, SteadyTime sent, std::chrono::seconds stall_time);
  Status GiveUp(const Status& last, int num_requests) const;
  Outcome Judge(const S3Bucket& bucket, const S3Call& call, http::Response response, const Credentials& credentials,
                Progress& progress);
  Outcome JudgeRefusal(const S3Bucket& bucket, const S3Call& call, const http::Response& response,
                       const Credentials& credentials, Progress& progress);
  bool FollowRegion(const S3Bucket& bucket, const S3Error& error, Progress& progress);
  bool DropChecksums(const S3Error& error, Progress& progress);
  void RememberWorkingRequest(const S3Bucket& bucket, const Progress& progress);
  bool SetClockBy(const http::Response& response);
  bool IsClockWrong(const http::Response& response) const;
  WallTime Now() const;
  uint32_t RandomWord();

  const S3ClientOptions options_;
  const std::shared_ptr<http::Transport> transport_;
  CredentialCache credentials_;
  ServiceSilence silence_;
  ServiceTraits traits_;
  const uint64_t jitter_seed_;
  // Atomics, because every thread that sends reads and writes them.
  std::atomic<int64_t> clock_offset_seconds_{0};  // the service's clock minus ours
  std::atomic<int64_t> num_requests_{0};
  std::atomic<uint64_t> num_random_words_{0};
};

// 32 random hexadecimal digits: the name of one writer of one object.
std::string NewWriterName();

}  // namespace espalier::storage
