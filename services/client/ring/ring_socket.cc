// All sockets are nonblocking. A read or write that cannot proceed returns 0 and records the poll events after which to
// call it again; with TLS a read may wait for POLLOUT and a write for POLLIN. RingWait polls an eventfd together with
// the sockets; stop callbacks signal it, so that a stop request ends a wait at once.
#include "services/client/ring/ring_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "services/base/wait_ended.h"
#include "services/client/ring/ring_system_error.h"

namespace espalier::client {
namespace {

// Largest size of a TLS record. With TLS, Write sends `head` and the start of `body` in one record.
constexpr size_t kRecordBytes = size_t{16} << 10;
constexpr std::chrono::hours kMaxPoll{1};
// Limits of the bytes that the kernel holds for a connection: received bytes, and bytes that it has not sent. With the
// kernel's default limits, which grow to tens of megabytes, the bytes leave the processor's cache before they are read,
// and an all-reduce of 40 MB takes two to three times as long.
constexpr int kMaxWindowBytes = 512 << 10;
constexpr int kMaxUnsentBytes = 128 << 10;

bool IsTransient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Status BrokenConnection(int error) { return Unavailable("the connection is broken: " + std::string(strerror(error))); }

Status ClosedByPeer() { return Unavailable("the peer closed the connection"); }

// Returns the remaining time in milliseconds, at most kMaxPoll, rounded up so that a poll does not end before the
// deadline.
int PollMilliseconds(const Deadline& deadline) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline.AtMost(kMaxPoll).Remaining()).count());
}

}  // namespace

Result<RingWaker> RingWaker::Make() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event.get() < 0) return RingSystemError(errno, "making an eventfd");
  return RingWaker(std::move(event));
}

void RingWaker::Wake() const { eventfd_write(event_.get(), 1); }

void RingWaker::Reset() const {
  eventfd_t count = 0;
  eventfd_read(event_.get(), &count);
}

RingWait::RingWait(const Deadline& deadline, const std::stop_token& stop) : deadline_(deadline), stop_(stop) {
  if (!stop_.stop_possible() && !deadline_.stop().stop_possible()) return;
  Result<RingWaker> waker = RingWaker::Make();
  if (!waker.ok()) {
    setup_ = waker.status();
    return;
  }
  waker_ = *std::move(waker);
  on_stop_.emplace(stop_, WakeUp{&*waker_});
  on_deadline_stop_.emplace(deadline_.stop(), WakeUp{&*waker_});
}

Status RingWait::Check() const {
  RETURN_IF_ERROR(setup_);
  if (stop_.stop_requested()) return Cancelled("the process was asked to stop");
  if (deadline_.stop().stop_requested() || deadline_.HasPassed())
    return WaitEnded(deadline_, "the deadline has passed");
  return Status();
}

Status RingWait::Poll(std::span<pollfd> sockets, const std::optional<std::chrono::nanoseconds>& max_wait) const {
  constexpr size_t kMaxPolled = 4;
  ESPALIER_CHECK(sockets.size() < kMaxPolled) << sockets.size() << " sockets";
  std::array<pollfd, kMaxPolled> polled{};
  std::copy(sockets.begin(), sockets.end(), polled.begin());
  polled[sockets.size()] = {.fd = waker_.has_value() ? waker_->descriptor() : -1, .events = POLLIN, .revents = 0};
  RETURN_IF_ERROR(setup_);
  const Deadline end = max_wait.has_value() ? deadline_.AtMost(*max_wait) : deadline_;
  for (;;) {
    const int ready = poll(polled.data(), sockets.size() + 1, PollMilliseconds(end));
    if (ready < 0 && errno != EINTR) return RingSystemError(errno, "polling connections");
    RETURN_IF_ERROR(Check());
    if (ready <= 0 && !end.HasPassed()) continue;
    std::copy_n(polled.begin(), sockets.size(), sockets.begin());
    return Status();
  }
}

Status RingWait::Pause(std::chrono::nanoseconds duration) const {
  const Deadline end = deadline_.AtMost(duration);
  pollfd stop{.fd = waker_.has_value() ? waker_->descriptor() : -1, .events = POLLIN, .revents = 0};
  while (!end.HasPassed()) {
    RETURN_IF_ERROR(Check());
    poll(&stop, 1, PollMilliseconds(end));
  }
  return Check();
}

void SetRingSocketOptions(int descriptor) {
  // Errors are ignored: they cost speed or delay the detection of a vanished host, but do not affect correctness.
  const auto set = [&](int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_WINDOW_CLAMP, kMaxWindowBytes);
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, kMaxUnsentBytes);
}

Result<RingSocket> RingSocket::Make(Descriptor descriptor, RingTls* tls, TlsSide side) {
  RingSocket made;
  made.tls_ = tls;
  if (tls != nullptr) {
    ASSIGN_OR_RETURN(made.session_, tls->MakeSession(descriptor.get(), side));
  }
  made.descriptor_ = std::move(descriptor);
  return made;
}

// Returns the error of an OpenSSL call that returned `ssl_result` without success. If the call only has to be repeated
// later, returns OK and sets `*events` to the poll events to wait for.
Status RingSocket::ToError(int ssl_result, short* events) const {
  const int error_number = errno;
  switch (SSL_get_error(session_.get(), ssl_result)) {
    case SSL_ERROR_WANT_READ: *events = POLLIN; return Status();
    case SSL_ERROR_WANT_WRITE: *events = POLLOUT; return Status();
    case SSL_ERROR_ZERO_RETURN: return ClosedByPeer();
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return ssl_result == 0 || error_number == 0 ? ClosedByPeer() : BrokenConnection(error_number);
    default: {
      const long verified = SSL_get_verify_result(session_.get());
      if (verified == X509_V_OK) return pki::OpenSslError(StatusCode::kUnavailable, "TLS");
      ERR_clear_error();
      return Unavailable(std::string("TLS: the certificate of the peer: ") + X509_verify_cert_error_string(verified));
    }
  }
}

Result<bool> RingSocket::Handshake() {
  if (session_ == nullptr) return true;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(session_.get());
  if (result == 1) return true;
  RETURN_IF_ERROR(ToError(result, &handshake_events_));
  return false;
}

Status RingSocket::CheckPeer(std::span<const pki::PeerRole> roles) const {
  return session_ == nullptr ? Status() : tls_->CheckPeer(session_.get(), roles);
}

Result<size_t> RingSocket::Read(std::span<std::byte> bytes) {
  if (session_ == nullptr) {
    const ssize_t received = recv(descriptor_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) return static_cast<size_t>(received);
    if (received == 0) return ClosedByPeer();
    if (IsTransient(errno)) return size_t{0};
    return BrokenConnection(errno);
  }
  ERR_clear_error();
  errno = 0;
  size_t received = 0;
  const int result = SSL_read_ex(session_.get(), bytes.data(), bytes.size(), &received);
  if (result != 1) RETURN_IF_ERROR(ToError(result, &read_events_));
  return received;
}

Result<size_t> RingSocket::Write(std::span<const std::byte> head, std::span<const std::byte> body) {
  if (session_ == nullptr) {
    iovec parts[] = {{const_cast<std::byte*>(head.data()), head.size()},
                     {const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(descriptor_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (IsTransient(errno)) return size_t{0};
    return BrokenConnection(errno);
  }
  std::array<std::byte, kRecordBytes> record;
  std::span<const std::byte> bytes = head.empty() ? body : head;
  if (!head.empty() && head.size() < record.size() && !body.empty()) {
    const size_t body_bytes = std::min(body.size(), record.size() - head.size());
    std::memcpy(record.data(), head.data(), head.size());
    std::memcpy(record.data() + head.size(), body.data(), body_bytes);
    bytes = std::span(record).first(head.size() + body_bytes);
  }
  ERR_clear_error();
  errno = 0;
  size_t sent = 0;
  const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
  if (result != 1) RETURN_IF_ERROR(ToError(result, &write_events_));
  return sent;
}

void RingSocket::FinishWriting() {
  if (!is_open()) return;
  if (session_ != nullptr) SSL_shutdown(session_.get());
  ERR_clear_error();
  shutdown(descriptor_.get(), SHUT_WR);
}

void RingSocket::CloseAfterArrival(std::chrono::nanoseconds max_wait) {
  if (!is_open()) return;
  FinishWriting();
  // If received bytes were unread, close would reset the connection, and bytes that the kernel has not sent yet would
  // be lost.
  std::array<std::byte, kRecordBytes> unread;
  while (recv(descriptor_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0) continue;
  // SO_LINGER with zero seconds would reset the connection.
  const linger waits{.l_onoff = max_wait.count() > 0 ? 1 : 0,
                     .l_linger = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(max_wait).count())};
  setsockopt(descriptor_.get(), SOL_SOCKET, SO_LINGER, &waits, sizeof(waits));
  Close();
}

void RingSocket::Close() {
  session_.reset();
  descriptor_.Close();
}

}  // namespace espalier::client
