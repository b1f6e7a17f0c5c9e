// An unreliable network whose faults depend on a seed.
#pragma once

#include <map>
#include <string>

#include "services/base/mutex.h"
#include "services/http/transport.h"

namespace espalier::storage {

// Makes `percent` percent of the requests fail, each in one of these ways: rejected with 503, 429, 500 or SlowDown;
// timed out before or after the service has processed it; a response that is reset, truncated or has a flipped bit; an
// error as the body of a 200. Bits are flipped only in whole objects, where a checksum detects it. Thread-safe.
class FaultyTransport final : public http::Transport {
 public:
  FaultyTransport(http::Transport& inner, int percent, uint32_t seed) : inner_(inner), percent_(percent), seed_(seed) {}

  Result<http::Response> Send(const http::Request& request, const http::SendOptions& options) override;

  int64_t num_requests() const;
  int64_t num_faults() const;

 private:
  enum class Fault {
    kNone,
    kUnavailable,
    kTooMany,
    kSlowDown,
    kInternal,
    kTimeoutBefore,
    kTimeoutAfter,
    kReset,
    kCutShort,
    kFlippedBit,
    kErrorInside
  };
  Fault NextFault(const http::Request& request);

  http::Transport& inner_;  // outlives this
  const int percent_;
  const uint32_t seed_;
  mutable Mutex mutex_;
  std::map<std::string, uint64_t> tries_ ABSL_GUARDED_BY(mutex_);  // by request
  int64_t num_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_faults_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::storage
