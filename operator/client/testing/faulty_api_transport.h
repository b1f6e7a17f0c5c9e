// An API server on a bad day, by a seed: the faults that HTTP knows. (Those of TCP are fault_proxy.h.)
#pragma once

#include <array>
#include <atomic>
#include <map>
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

// Lets so many of a hundred requests go wrong. What happens to the nth request of a method and path depends on the seed
// alone, not on threads. Thread-safe.
class FaultyApiTransport final : public HttpTransport {
 public:
  FaultyApiTransport(HttpTransport& inner, int percent, uint32_t seed)
      : inner_(inner), percent_(percent), seed_(seed) {}

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) override;

  void set_percent(int percent) { percent_ = percent; }  // 0: the day gets better
  int64_t CountOf(ApiFault fault) const { return counts_[static_cast<size_t>(fault)].load(); }

 private:
  struct Drawn {
    ApiFault fault = ApiFault::kNone;
    uint32_t word = 0;  // further randomness
  };
  Drawn Draw(const kube::HttpRequest& request, bool is_stream);

  HttpTransport& inner_;  // outlives this
  std::atomic<int> percent_;
  const uint32_t seed_;
  std::array<std::atomic<int64_t>, kNumApiFaults> counts_{};
  Mutex mutex_;
  std::map<std::string, uint64_t> tries_ ABSL_GUARDED_BY(mutex_);  // by method and path
};

}  // namespace espalier::ctl::client
