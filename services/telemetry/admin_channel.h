// Sends and receives the bytes of one connection to an admin port. The plain channel leaves the bytes unchanged; a
// library of a higher layer can encrypt them (operator/metrics_port/tls_channel.h), so that this library needs no TLS.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace espalier::telemetry {

// The outcome of Receive or Send, which never block.
struct Transfer {
  enum class State {
    kMoved,    // `count` bytes were received or sent
    kWaits,    // no byte was received or sent: call again when poll() reports one of `poll_events`
    kFinished  // the peer has ended the connection, or it is broken
  };
  State state = State::kFinished;
  size_t count = 0;
  short poll_events = 0;  // POLLIN or POLLOUT
};

// Not thread-safe. Does not own the descriptor of its connection, which must be non-blocking.
class AdminChannel {
 public:
  virtual ~AdminChannel() = default;
  // Receives available bytes into `buffer`, which is not empty. kMoved: at least one byte.
  virtual Transfer Receive(std::span<char> buffer) = 0;
  // Sends as much of the beginning of `bytes`, which is not empty, as is possible now. kMoved: at least one byte.
  virtual Transfer Send(std::string_view bytes) = 0;
  // Signals the end of the sent bytes to the peer, if that is possible without blocking.
  virtual void Finish() = 0;
};

// Returns the channel of an accepted connection, or null: then the server closes the connection.
using ChannelFactory = std::function<std::unique_ptr<AdminChannel>(int descriptor)>;

// Returns a channel that sends and receives the bytes unchanged.
std::unique_ptr<AdminChannel> MakePlainChannel(int descriptor);

}  // namespace espalier::telemetry
