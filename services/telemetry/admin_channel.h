// The bytes of one connection to an admin port. The plain channel moves them unchanged; a library of a higher layer can
// encrypt them (operator/metrics_port/tls_channel.h), so that this one needs no TLS.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace espalier::telemetry {

// The outcome of one call of a channel. None of them blocks.
struct Transfer {
  enum class State {
    kMoved,    // `count` bytes were moved
    kWaits,    // nothing was moved: call again when poll() reports one of `poll_events`
    kFinished  // the peer has ended the connection, or it is broken
  };
  State state = State::kFinished;
  size_t count = 0;
  short poll_events = 0;  // POLLIN or POLLOUT
};

// Owned by one thread. Does not own the descriptor of its connection, which must be non-blocking.
class AdminChannel {
 public:
  virtual ~AdminChannel() = default;
  // Receives at least one byte into `buffer`, which is not empty.
  virtual Transfer Receive(std::span<char> buffer) = 0;
  // Sends at least the first byte of `bytes`, which is not empty.
  virtual Transfer Send(std::string_view bytes) = 0;
  // Tells the peer that no bytes follow, as far as that is possible without waiting.
  virtual void Finish() = 0;
};

// Returns the channel of an accepted connection. Null: the connection is closed.
using ChannelFactory = std::function<std::unique_ptr<AdminChannel>(int descriptor)>;

// Returns a channel that moves the bytes unchanged.
std::unique_ptr<AdminChannel> MakePlainChannel(int descriptor);

}  // namespace espalier::telemetry
