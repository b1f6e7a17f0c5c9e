// Detects that the host of a peer has vanished while this process sends to it.
//
// Keepalive does not: the kernel probes a connection only while everything that was sent is acknowledged. Otherwise it
// repeats what it has sent, or asks for room in the peer's window, for a quarter of an hour. TCP_USER_TIMEOUT would end
// that earlier, but also connections to a rank that computes: its window is full, and its kernel answers. The watch
// therefore asks the kernel how many of these repetitions and questions are unanswered.
#pragma once

#include <chrono>
#include <optional>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::client {

// As on gRPC's connections: rpc::ChannelSettings::keepalive_interval and keepalive_timeout.
inline constexpr std::chrono::milliseconds kRingHostTimeout{30'000};

// Owned by one thread.
class RingHostWatch {
 public:
  explicit RingHostWatch(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // How often Check is to be called while this process waits for room to send.
  std::chrono::milliseconds interval() const { return timeout_ / 8; }
  // Unavailable: the peer's kernel has answered nothing for the timeout although it was asked several times.
  Status Check(int descriptor);

 private:
  const std::chrono::milliseconds timeout_;
  std::optional<Timer> last_check_;
  std::optional<Timer> unanswered_;  // since the first check that found this kernel without an answer
};

}  // namespace espalier::client
