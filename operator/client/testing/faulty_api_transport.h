// A transport that adds faults of HTTP to an API server: random faults with a seed (FaultOptions), or a fault at a
// moment that the test chooses. It also counts writes.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "operator/client/transport.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {

enum class ApiFault {
  kNone,
  kConflict,      // 409 for a write to an existing object
  kExpired,       // 410 for a page of a list, or as the first event of a watch
  kTooMany,       // 429 with Retry-After: 0
  kInternal,      // 500
  kUnavailable,   // 503 without Retry-After
  kNotSent,       // FailedPrecondition: the request is not executed
  kLostAnswer,    // the request is executed, but the result is Unavailable
  kTwice,         // the request is executed twice, as by a transport with own retries; returns the second response
  kBrokenStream,  // a watch breaks after a few events
  kEndedStream,   // a watch ends cleanly after a few events
};
inline constexpr int kNumApiFaults = 11;

struct FaultOptions {
  int percent_of_calls = 0;    // share of calls with a fault; 0: none
  int percent_of_watches = 0;  // share of watches with a fault
  uint32_t seed = 0;
};

// The fault of the nth request with a method and path depends on the seed alone, not on the order of threads.
// Thread-safe.
class FaultyApiTransport final : public HttpTransport {
 public:
  explicit FaultyApiTransport(HttpTransport& inner, FaultOptions options = {}) : inner_(inner), options_(options) {}

  // Called with a null `answer` before a request is sent, and again with the response. A result other than nullopt
  // replaces the response; if the first call returns one, the request is not sent.
  using Fault =
      std::function<std::optional<Result<HttpResponse>>(const kube::HttpRequest& request, const HttpResponse* answer)>;
  // Must not be called during a call of Send.
  void SetFault(Fault fault) { fault_ = std::move(fault); }
  void SetFaultOptions(FaultOptions options);

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;

  int64_t Count(ApiFault fault) const { return counts_[static_cast<size_t>(fault)].load(); }
  int64_t num_faults() const;  // random faults
  int64_t num_calls() const { return num_calls_.load(); }
  // Returns the number of calls with IsWrite and a 2xx response.
  int64_t num_writes() const { return num_writes_.load(); }

 private:
  struct Drawn {
    ApiFault fault = ApiFault::kNone;
    uint32_t word = 0;  // further randomness
  };
  Drawn Draw(const kube::HttpRequest& request, bool is_stream);
  Result<HttpResponse> SendWithFaults(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop);

  HttpTransport& inner_;  // must outlive this
  Fault fault_;
  std::array<std::atomic<int64_t>, kNumApiFaults> counts_{};
  std::atomic<int64_t> num_calls_{0};
  std::atomic<int64_t> num_writes_{0};
  Mutex mutex_;
  FaultOptions options_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> tries_ ABSL_GUARDED_BY(mutex_);  // by method and path
};

// Returns true unless the request is a GET or a dry run.
bool IsWrite(const kube::HttpRequest& request);

// Returns an error response of an API server, with a Status object.
HttpResponse ErrorAnswer(int code, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::client
