#include "services/runner/launch/heartbeat.h"

#include <algorithm>
#include <utility>

#include "services/runner/launch/host_session.h"

namespace espalier::launch {
namespace {

// Maximum that one interval between two calls of SilenceTimer::Update adds to the silence.
constexpr std::chrono::seconds kMaxCountedInterval{2};

}  // namespace

Status Heartbeat::Beat() {
  if (deadline_.has_value() && deadline_->HasPassed()) return DeadlineExceeded("the time limit has passed");
  const SteadyTime now = Clock::Real().Now();
  if (pinged_at_.has_value() && now < *pinged_at_ + interval_) return Status();
  pinged_at_ = now;
  for (HostSession* host : hosts_) {
    if (!host->is_listening()) continue;
    RETURN_IF_ERROR(host->Send({{"do", "ping"}}));
    RETURN_IF_ERROR(host->PollMessages());
  }
  return Status();
}

std::chrono::nanoseconds SilenceTimer::Update(uint64_t bytes_received) {
  const SteadyTime now = clock_->Now();
  const bool has_received = std::exchange(received_bytes_, bytes_received) != bytes_received;
  silence_ = has_received ? std::chrono::nanoseconds(0)
                          : silence_ + std::min<std::chrono::nanoseconds>(now - checked_at_, kMaxCountedInterval);
  checked_at_ = now;
  return silence_;
}

}  // namespace espalier::launch
