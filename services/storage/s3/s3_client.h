// A client for S3 operations that signs and sends requests and retries failed ones.
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
  // max_attempts limits the responses that S3Call::check rejects; retry_budget limits retries after transient errors.
  RetryPolicy retry{
      .max_attempts = 10, .initial_delay = std::chrono::milliseconds(50), .max_delay = std::chrono::milliseconds(3000)};
  // A call starts its last request at most this long after the call began; that request may take 5 s more, plus
  // extra_time and the time of a transfer. The time of a request after its first 15 s (or extra_time, if longer) does
  // not count, because the request is then transferring bytes. While the service does not respond at all, all calls
  // together have this time (service_silence.h).
  std::chrono::seconds retry_budget{30};
  S3Checksums request_checksums = S3Checksums::kWhenSupported;
  S3Checksums response_checksums = S3Checksums::kWhenSupported;
  Clock* clock = &Clock::Real();            // must outlive the client
  WallClock now = SystemTime;               // for signatures and the expiry of credentials
  uint64_t jitter_seed = 0;                 // 0: a random one
  std::shared_ptr<RequestMetrics> metrics;  // null: no metrics
};

// An operation and the requirements on its responses.
struct S3Call {
  S3Request request;
  std::string doing;  // "reading s3://bucket/key": the context of errors
  size_t max_body_bytes = size_t{1} << 20;
  std::span<std::byte> into;           // see http::SendOptions
  uint64_t transfer_bytes = 0;         // in the bodies of request and response; each 128 KiB adds 1 s to the time limit
  std::chrono::seconds extra_time{0};  // added to the time limit, for requests to which services respond late
  std::vector<int> known_statuses;     // returned as responses, not as errors, if IsAboutTheObject
  int max_attempts = 0;                // limit on the requests of this call; 0: limited only by the options
  // Checks a 2xx response. After DataLoss and retryable errors, the request is sent again.
  std::function<Status(const http::Response&)> check;
};

// Thread-safe. Serves all buckets of one service with one set of credentials.
class S3Client {
 public:
  S3Client(std::shared_ptr<http::Transport> transport, std::unique_ptr<CredentialSource> credentials,
           S3ClientOptions options = {});

  // Sends the requests of a call and returns the response. Requests that fail with 5xx (except 501, 505 and 507), 429,
  // SlowDown and similar errors, resets, timeouts or `check` are retried with growing, jittered delays. A request whose
  // body the service rejects as damaged, with the same error each time, is sent three times. At most once per call, the
  // client renews rejected credentials, sets its clock to the service's, sends to the region that the service reports
  // for the bucket, and omits rejected x-amz-checksum-* headers. Later calls use the corrected clock, the region and
  // the headers that the service accepts. Errors: NotFound, PermissionDenied and so on, or the last error when no retry
  // succeeded, with the number of requests and the time for which the service has not responded.
  Result<http::Response> Send(const S3Bucket& bucket, const S3Call& call);

  // Returns the number of requests sent so far, including retries.
  int64_t num_requests() const { return num_requests_.load(std::memory_order_relaxed); }

 private:
  struct Progress;
  struct Outcome;
  Outcome SendAttempt(const S3Bucket& bucket, const S3Call& call, Deadline end, Progress& progress);
  http::Response ExplainHeadError(http::Response response, const S3Bucket& bucket, const S3Call& call,
                                  const Credentials& credentials, const http::SendOptions& how);
  Result<http::Response> SendOnce(const http::Request& request, const std::string& operation,
                                  const http::SendOptions& options);
  void UpdateSilence(const Status& status, SteadyTime sent, std::chrono::seconds stall_time);
  Status MakeFinalError(const Status& last, int num_requests) const;
  Outcome ClassifyResponse(const S3Bucket& bucket, const S3Call& call, http::Response response,
                           const Credentials& credentials, Progress& progress);
  Outcome ClassifyRefusal(const S3Bucket& bucket, const S3Call& call, const http::Response& response,
                          const Credentials& credentials, Progress& progress);
  bool SwitchRegion(const S3Bucket& bucket, const S3Error& error, Progress& progress);
  bool DropChecksums(const S3Error& error, Progress& progress);
  void RememberWorkingRequest(const S3Bucket& bucket, const Progress& progress);
  bool SetClockFrom(const http::Response& response);
  bool IsClockWrong(const http::Response& response) const;
  WallTime Now() const;
  uint32_t NextRandomWord();

  const S3ClientOptions options_;
  const std::shared_ptr<http::Transport> transport_;
  CredentialCache credentials_;
  ServiceSilence silence_;
  ServiceTraits traits_;
  const uint64_t jitter_seed_;
  // Atomic, because all sending threads share them.
  std::atomic<int64_t> clock_offset_seconds_{0};  // the service's clock minus the local clock
  std::atomic<int64_t> num_requests_{0};
  std::atomic<uint64_t> num_random_words_{0};
};

// Returns a name for one writer of one object: 32 random hexadecimal digits.
std::string MakeWriterName();

}  // namespace espalier::storage
