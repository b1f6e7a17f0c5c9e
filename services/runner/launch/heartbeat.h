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

// Longest time between two pings of a host. HostFleet uses the shorter of this time and a third of
// HostFleetOptions::lost_after, the time without a message after which hosts consider the launcher lost.
constexpr std::chrono::seconds kPingInterval{5};

// Not thread-safe. The hosts must outlive this object.
class Heartbeat {
 public:
  explicit Heartbeat(std::vector<HostSession*> hosts, std::chrono::milliseconds interval = kPingInterval,
                     std::optional<Deadline> deadline = std::nullopt)
      : hosts_(std::move(hosts)), interval_(interval), deadline_(deadline) {}

  // Call this often during any other work. Pings every host that is listening (HostSession::is_listening) at most once
  // per `interval`. DeadlineExceeded after the deadline; otherwise the error of a connection that has ended or of a
  // host that has reported a failure.
  Status Beat();

 private:
  const std::vector<HostSession*> hosts_;
  const std::chrono::milliseconds interval_;
  const std::optional<Deadline> deadline_;
  std::optional<SteadyTime> pinged_at_;
};

// Measures for how long the other end has sent nothing. An interval between two calls counts as at most 2 s: if it was
// longer, the machine was suspended or this process was busy, so this process could not read messages.
class SilenceTimer {
 public:
  explicit SilenceTimer(Clock& clock = Clock::Real()) : clock_(&clock), checked_at_(clock.Now()) {}

  // Returns the length of the silence so far. It is 0 if `bytes_received`, the total number of bytes from the other
  // end, has changed since the last call.
  std::chrono::nanoseconds Update(uint64_t bytes_received);

 private:
  Clock* clock_;
  SteadyTime checked_at_;
  uint64_t received_bytes_ = 0;
  std::chrono::nanoseconds silence_{0};
};

}  // namespace espalier::launch
