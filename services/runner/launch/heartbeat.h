// Several hosts of which none may think that the launcher is gone while it is busy with one of them, and silence as
// both ends of a connection measure it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::launch {

class HostSession;

// Hosts go when they hear nothing for HostFleetOptions::lost, which is at least 10 s for users.
constexpr std::chrono::seconds kPingPause{5};

// Owned by one thread. The hosts outlive it.
class Heartbeat {
 public:
  explicit Heartbeat(std::vector<HostSession*> hosts, std::chrono::milliseconds pause = kPingPause,
                     std::optional<Deadline> deadline = std::nullopt)
      : hosts_(std::move(hosts)), pause_(pause), deadline_(deadline) {}

  // To be called often while something else is waited for or done. Pings every host once a pause. DeadlineExceeded once
  // the deadline has passed; the error of a connection that is over, or of a host that failed.
  Status Beat();

 private:
  const std::vector<HostSession*> hosts_;
  const std::chrono::milliseconds pause_;
  const std::optional<Deadline> deadline_;
  std::optional<SteadyTime> last_;
};

// For how long the other end has said nothing, as far as this process was there to hear it: a machine that was
// suspended, or a process that was busy with something else, has missed nothing.
class Silence {
 public:
  explicit Silence(Clock& clock = Clock::Real()) : clock_(&clock), looked_(clock.Now()) {}

  // `bytes_received`: from the other end, ever.
  std::chrono::nanoseconds After(uint64_t bytes_received);

 private:
  Clock* clock_;
  SteadyTime looked_;
  uint64_t heard_ = 0;
  std::chrono::nanoseconds silence_{0};
};

}  // namespace espalier::launch
