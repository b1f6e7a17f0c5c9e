// Sockets of the ring, in plaintext or with TLS, and waits for them.
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

// Wakes a thread that polls. Movable; thread-safe.
class RingWaker {
 public:
  // ResourceExhausted: the process has no descriptor left.
  static Result<RingWaker> Make();
  void Wake() const;
  void Reset() const;
  int descriptor() const { return event_.get(); }  // readable between Wake and Reset

 private:
  explicit RingWaker(Descriptor event) : event_(std::move(event)) {}

  Descriptor event_;
};

// Bounds a wait for sockets by a deadline with its stop and by another stop. Owned by one thread.
class RingWait {
 public:
  explicit RingWait(const Deadline& deadline, const std::stop_token& stop = {});

  const Deadline& deadline() const { return deadline_; }
  const std::stop_token& stop() const { return stop_; }  // not that of the deadline
  // OK, DeadlineExceeded or Cancelled. ResourceExhausted: the process had no descriptor for the wait, which fails.
  Status Check() const;
  // Blocks until a socket has an event or `most` has passed, sets `revents`, and returns OK; or returns the error of
  // Check. Sockets with a negative descriptor are left out.
  Status Poll(std::span<pollfd> sockets, const std::optional<std::chrono::nanoseconds>& most = {}) const;
  // Blocks for `duration`; returns the error of Check if the wait ends earlier.
  Status Pause(std::chrono::nanoseconds duration) const;

 private:
  struct WakeUp {
    const RingWaker* waker;
    void operator()() const { waker->Wake(); }
  };

  const Deadline deadline_;
  const std::stop_token stop_;
  Status setup_;
  std::optional<RingWaker> waker_;  // none without a stop
  std::optional<std::stop_callback<WakeUp>> on_stop_, on_deadline_stop_;
};

// A TCP connection that never blocks. Movable; owned by one thread at a time. Errors are Unavailable: the connection is
// closed or broken.
class RingSocket {
 public:
  RingSocket() = default;  // closed
  // `tls` (null: plaintext) must outlive the socket.
  static Result<RingSocket> Make(Descriptor descriptor, RingTls* tls, TlsSide side);

  // Continues the TLS handshake. Returns whether it is done; otherwise wait for handshake_events().
  Result<bool> Handshake();
  // OK in plaintext; with TLS the result of RingTls::CheckPeer.
  Status CheckPeer(std::span<const pki::PeerRole> roles) const;
  // Receives into a part of `bytes` and returns its size; 0: wait for read_events().
  Result<size_t> Read(std::span<std::byte> bytes);
  // Sends a part of `head` followed by `body` and returns its size; 0: wait for write_events() and send the same again.
  Result<size_t> Write(std::span<const std::byte> head, std::span<const std::byte> body = {});
  // Sends the end of the stream after what was written.
  void FinishWriting();
  // Closes the connection. Blocks until the peer's kernel has received what was written, at most for `most`, which is
  // rounded up to seconds.
  void CloseAfterArrival(std::chrono::nanoseconds most);
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

// Sets the options of a connection: no delay of small messages, little memory of the kernel, and probes that detect a
// vanished host within kRingHostTimeout while nothing is sent to it (RingHostWatch does otherwise). To be called before
// it is used.
void SetRingSocketOptions(int descriptor);

}  // namespace espalier::client
