// Detects that the host of a peer has vanished while this process sends to it.
//
// TCP keepalive does not detect this: the kernel sends keepalive probes only while all sent data is acknowledged.
// Otherwise it sends retransmissions, or probes of the peer's closed window, for about 15 minutes. TCP_USER_TIMEOUT
// would end the connection earlier, but it would also end the connection to a peer that is computing and does not read:
// the peer's window is closed although its kernel responds. The watch therefore reads from TCP_INFO how many
// retransmissions and window probes are unanswered.
#pragma once

#include <chrono>
#include <optional>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::client {

// Equal to the timeout of gRPC connections: keepalive_interval plus keepalive_timeout of rpc::ChannelSettings.
inline constexpr std::chrono::milliseconds kRingHostTimeout{30'000};

// Watches one connection. For one thread.
class RingHostWatch {
 public:
  explicit RingHostWatch(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // Returns the interval at which Check must be called while this process waits to send.
  std::chrono::milliseconds interval() const { return timeout_ / 8; }
  // Returns Unavailable if the peer's kernel has acknowledged nothing for the timeout, in spite of several
  // retransmissions or window probes. Does nothing if the last check was less than interval() ago.
  Status Check(int descriptor);

 private:
  const std::chrono::milliseconds timeout_;
  std::optional<Timer> last_check_;
  std::optional<Timer> unanswered_;  // since the first of the consecutive checks that found unanswered packets
};

}  // namespace espalier::client
