// An API server that fails as HTTP lets it: on a bad day at random, by a seed, or at the moment that a test chooses. It
// counts what was written. (Faults of TCP are fault_proxy.h.)
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
  kConflict,      // 409, of writes to what exists
  kExpired,       // 410: of a page, or as the first event of a watch
  kTooMany,       // 429 with Retry-After: 0
  kInternal,      // 500
  kUnavailable,   // 503 without Retry-After
  kNotSent,       // FailedPrecondition: surely not done
  kLostAnswer,    // done, then Unavailable
  kTwice,         // done twice, as a transport does that repeats by itself; the second answer
  kBrokenStream,  // a watch breaks after a few events
  kEndedStream,   // a watch ends cleanly after a few events
};
inline constexpr int kNumApiFaults = 11;

struct BadDay {
  int percent_of_calls = 0;    // that go wrong; 0: none
  int percent_of_watches = 0;  // the same
  uint32_t seed = 0;
};

// What happens to the nth request of a method and path on a bad day depends on the seed alone, not on threads.
// Thread-safe.
class FaultyApiTransport final : public HttpTransport {
 public:
  explicit FaultyApiTransport(HttpTransport& inner, BadDay day = {}) : inner_(inner), day_(day) {}

  // Called before a call is sent, and once more with its answer: what it returns is the answer instead (before: and the
  // call is not sent).
  using Fault =
      std::function<std::optional<Result<HttpResponse>>(const kube::HttpRequest& request, const HttpResponse* answer)>;
  // Only while nothing is under way.
  void SetFault(Fault fault) { fault_ = std::move(fault); }
  void SetDay(BadDay day);

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;

  int64_t Count(ApiFault fault) const { return counts_[static_cast<size_t>(fault)].load(); }
  int64_t num_faults() const;  // of bad days
  int64_t num_calls() const { return num_calls_.load(); }
  // Calls that changed something: IsWrite, answered 2xx.
  int64_t num_writes() const { return num_writes_.load(); }

 private:
  struct Drawn {
    ApiFault fault = ApiFault::kNone;
    uint32_t word = 0;  // further randomness
  };
  Drawn Draw(const kube::HttpRequest& request, bool is_stream);
  Result<HttpResponse> SendThroughTheDay(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop);

  HttpTransport& inner_;  // outlives this
  Fault fault_;
  std::array<std::atomic<int64_t>, kNumApiFaults> counts_{};
  std::atomic<int64_t> num_calls_{0};
  std::atomic<int64_t> num_writes_{0};
  Mutex mutex_;
  BadDay day_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> tries_ ABSL_GUARDED_BY(mutex_);  // by method and path
};

// Neither GET nor a dry run.
bool IsWrite(const kube::HttpRequest& request);

// {"kind": "Status", ...} as an API server answers.
HttpResponse ErrorAnswer(int code, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::client
