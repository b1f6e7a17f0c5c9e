// Liveness of the connections between the launcher and its hosts. Heartbeat pings all hosts while the launcher is busy
// with one of them, so that none considers the launcher lost. SilenceTimer measures the time without a message, on both
// ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::launch {

class HostSession;

// Must be shorter than HostFleetOptions::lost, after which hosts consider the launcher lost. --lost-seconds is at least
// 10.
constexpr std::chrono::seconds kPingPause{5};

// Not thread-safe. The hosts must outlive this object.
class Heartbeat {
 public:
  explicit Heartbeat(std::vector<HostSession*> hosts, std::chrono::milliseconds pause = kPingPause,
                     std::optional<Deadline> deadline = std::nullopt)
      : hosts_(std::move(hosts)), pause_(pause), deadline_(deadline) {}

  // Call this often during any other work. Pings every host at most once per `pause`. DeadlineExceeded after the
  // deadline; otherwise the error of a connection that has ended or of a host that has reported a failure.
  Status Beat();

 private:
  const std::vector<HostSession*> hosts_;
  const std::chrono::milliseconds pause_;
  const std::optional<Deadline> deadline_;
  std::optional<SteadyTime> last_;
};

// Measures for how long the other end has sent nothing. An interval between two calls counts as at most 2 s: if it was
// longer, the machine was suspended or this process was busy, so this process could not read messages.
class SilenceTimer {
 public:
  explicit SilenceTimer(Clock& clock = Clock::Real()) : clock_(&clock), checked_at_(clock.Now()) {}

  // Returns the length of the silence so far. `bytes_received` is the total number of bytes from the other end.
  std::chrono::nanoseconds After(uint64_t bytes_received);

 private:
  Clock* clock_;
  SteadyTime checked_at_;
  uint64_t received_bytes_ = 0;
  std::chrono::nanoseconds silence_{0};
};

}  // namespace espalier::launch
