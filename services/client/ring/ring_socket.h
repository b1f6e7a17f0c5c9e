// Sockets of the ring, in plaintext or with TLS, and bounded waits for their events.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/base/descriptor.h"
#include "services/base/status.h"
#include "services/client/ring/ring_tls.h"

namespace espalier::client {

// An eventfd that wakes a polling thread. Movable; thread-safe.
class RingWaker {
 public:
  // ResourceExhausted: the process or the host has no descriptors or no memory left.
  static Result<RingWaker> Make();
  void Wake() const;   // makes descriptor() readable
  void Reset() const;  // ends the effect of Wake
  int descriptor() const { return event_.get(); }

 private:
  explicit RingWaker(Descriptor event) : event_(std::move(event)) {}

  Descriptor event_;
};

// Waits for sockets until a deadline passes, or until a stop is requested through the deadline's stop token or `stop`.
// For one thread.
class RingWait {
 public:
  explicit RingWait(const Deadline& deadline, const std::stop_token& stop = {});

  const Deadline& deadline() const { return deadline_; }
  const std::stop_token& stop() const { return stop_; }  // the constructor's argument
  // Returns OK while the wait may continue. DeadlineExceeded: the deadline has passed. Cancelled: a stop was requested.
  // The error of RingWaker::Make if the constructor could not make its waker.
  Status Check() const;
  // Blocks until a socket has an event or `max_wait` has passed, and sets `revents`. Returns the error of Check if the
  // wait ends earlier. Takes at most 3 sockets; those with a negative descriptor are ignored.
  Status Poll(std::span<pollfd> sockets, const std::optional<std::chrono::nanoseconds>& max_wait = {}) const;
  // Blocks for `duration`; returns the error of Check if the wait ends earlier.
  Status Pause(std::chrono::nanoseconds duration) const;

 private:
  struct WakeUp {
    const RingWaker* waker;
    void operator()() const { waker->Wake(); }
  };

  const Deadline deadline_;
  const std::stop_token stop_;
  Status setup_;                    // error of the constructor
  std::optional<RingWaker> waker_;  // absent if no stop can be requested
  std::optional<std::stop_callback<WakeUp>> on_stop_, on_deadline_stop_;
};

// A nonblocking TCP connection. Movable; for one thread at a time. The error of a closed or broken connection is
// Unavailable.
class RingSocket {
 public:
  RingSocket() = default;  // closed
  // Wraps a connected, nonblocking descriptor. `tls` must outlive the socket; null: plaintext.
  static Result<RingSocket> Make(Descriptor descriptor, RingTls* tls, TlsSide side);

  // Continues the TLS handshake. Returns whether it is done; otherwise wait for handshake_events().
  Result<bool> Handshake();
  // Returns the result of RingTls::CheckPeer; always OK in plaintext.
  Status CheckPeer(std::span<const pki::PeerRole> roles) const;
  // Receives available bytes into `bytes`, which must not be empty, and returns their number. After 0, wait for
  // read_events() and call Read again.
  Result<size_t> Read(std::span<std::byte> bytes);
  // Sends the first bytes of the concatenation of `head` and `body`, and returns their number. After 0, wait for
  // write_events() and call Write again with the same bytes.
  Result<size_t> Write(std::span<const std::byte> head, std::span<const std::byte> body = {});
  // Closes the sending direction after the bytes that were written.
  void FinishWriting();
  // Closes the connection. Blocks until the peer's kernel has acknowledged all written bytes, but no longer than
  // `max_wait`, rounded up to seconds. Unread received bytes are discarded.
  void CloseAfterArrival(std::chrono::nanoseconds max_wait);
  void Close();

  bool is_open() const { return descriptor_.get() >= 0; }
  int descriptor() const { return descriptor_.get(); }
  short handshake_events() const { return handshake_events_; }
  short read_events() const { return read_events_; }
  short write_events() const { return write_events_; }

 private:
  Status ToError(int ssl_result, short* events) const;

  Descriptor descriptor_;
  RingTls* tls_ = nullptr;
  SslHandle session_;  // null: plaintext
  short handshake_events_ = POLLIN, read_events_ = POLLIN, write_events_ = POLLOUT;
};

// Sets the options of a connection: no delay of small messages, small kernel buffers, and keepalive probes that detect
// a vanished host within kRingHostTimeout while all sent data is acknowledged (RingHostWatch detects it otherwise).
// Must be called before the first use of the connection.
void SetRingSocketOptions(int descriptor);

}  // namespace espalier::client
