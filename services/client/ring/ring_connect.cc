// An attempt to connect resolves the host name, tries its addresses one after another and does the TLS handshake. An
// attempt that fails for a temporary reason returns Unavailable, and Retry repeats it with jittered backoff until the
// deadline passes or a stop is requested (RingWait). Each attempt to connect has a timeout, so that an attempt to reach
// a peer that does not respond leaves time for others.
#include "services/client/ring/ring_connect.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <random>
#include <utility>

#include "services/base/backoff.h"
#include "services/base/host_port.h"
#include "services/client/ring/ring_system_error.h"

namespace espalier::client {
namespace {

using collective::v1::JoinRequest;
using collective::v1::JoinResponse;

constexpr size_t kMaxResponseBytes = size_t{4} << 20;  // the response has the addresses of all ranks
// Timeout of one attempt to connect; handshakes are slow on a busy machine.
constexpr std::chrono::seconds kAttemptTimeout(5);
constexpr RetryPolicy kRetry{.max_attempts = 0,  // not used: RingWait ends the retries
                             .initial_delay = std::chrono::milliseconds(50),
                             .max_delay = std::chrono::milliseconds(1000)};

Result<Descriptor> ConnectTo(const addrinfo& address, const RingWait& wait) {
  Descriptor descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (descriptor.get() < 0) return RingSystemError(errno, "making a socket");
  SetRingSocketOptions(descriptor.get());
  int error = connect(descriptor.get(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd events{.fd = descriptor.get(), .events = POLLOUT, .revents = 0};
    RETURN_IF_ERROR(wait.Poll({&events, 1}));
    socklen_t size = sizeof(error);
    getsockopt(descriptor.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return RingSystemError(error, "connecting");
  return descriptor;
}

Result<Descriptor> ConnectToAny(const std::string& address, const RingWait& wait) {
  ASSIGN_OR_RETURN(const HostPort to, ParseHostPort(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found); error != 0) {
    return Unavailable("resolving '" + to.host + "': " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  Status last = Unavailable("'" + to.host + "' has no address");
  int num_untried = 0;
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) ++num_untried;
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    // Divide the time among the untried addresses, so that an address that does not respond, such as an IPv6 address
    // without a route, leaves time for the other addresses.
    const RingWait candidate_wait(wait.deadline().AtMost(wait.deadline().Remaining() / num_untried--), wait.stop());
    Result<Descriptor> connected = ConnectTo(*candidate, candidate_wait);
    if (connected.ok()) return connected;
    RETURN_IF_ERROR(wait.Check());
    last = connected.status();
    if (last.code() == StatusCode::kResourceExhausted) return last;
  }
  return Unavailable(last.message());
}

// Connects, does the TLS handshake and checks the peer. Unavailable: a retry may succeed.
Result<RingSocket> TryToConnect(const std::string& address, RingTls* tls, const RingWait& wait) {
  ASSIGN_OR_RETURN(Descriptor descriptor, ConnectToAny(address, wait));
  Result<RingSocket> made = RingSocket::Make(std::move(descriptor), tls, TlsSide::kConnects);
  if (made.status().code() == StatusCode::kResourceExhausted) return made.status();
  // Another process may be replacing the certificate files.
  if (!made.ok()) return Unavailable(made.status().message());
  RingSocket socket = *std::move(made);
  for (;;) {
    ASSIGN_OR_RETURN(const bool done, socket.Handshake());
    if (done) break;
    pollfd events{.fd = socket.descriptor(), .events = socket.handshake_events(), .revents = 0};
    RETURN_IF_ERROR(wait.Poll({&events, 1}));
  }
  constexpr pki::PeerRole kTrainer = pki::PeerRole::kTrainer;
  if (const Status checked = socket.CheckPeer({&kTrainer, 1}); !checked.ok()) return Unavailable(checked.message());
  return socket;
}

// Calls `attempt` until its result is not Unavailable or the wait ends.
template <class Attempt>
auto Retry(Rank rank, const std::string& address, const RingWait& wait, Attempt attempt) -> decltype(attempt()) {
  std::minstd_rand jitter(std::random_device{}());
  Status last_unavailable;
  for (int number = 1;; ++number) {
    auto result = attempt();
    if (result.ok()) return result;
    Status reason = result.status();
    if (reason.code() == StatusCode::kUnavailable) {
      last_unavailable = reason;
      const Status paused = wait.Pause(DelayBefore(number, kRetry, static_cast<uint32_t>(jitter())));
      if (paused.ok()) continue;
      reason = paused;
    }
    // The error of the last attempt explains why the deadline has passed.
    if (reason.code() == StatusCode::kDeadlineExceeded && !last_unavailable.ok()) reason = last_unavailable;
    const std::string tries = number == 1 ? "" : " (" + std::to_string(number) + " tries)";
    return std::move(reason).While("trainer " + std::to_string(rank.value) + " at " + address + tries);
  }
}

// Receives the response to a JoinRequest. A refusal becomes a status with the code and message that rank 0 sent.
Result<JoinResponse> ReceiveResponse(RingSocket& socket, const RingWait& wait) {
  FrameReceiver receiver(kMaxResponseBytes);
  RETURN_IF_ERROR(ReceiveFrame(socket, receiver, wait));
  if (receiver.header().kind == FrameKind::kEnd) {
    collective::v1::End end;
    RETURN_IF_ERROR(receiver.ParseMessage(FrameKind::kEnd, &end));
    const bool is_error = end.code() > 0 && end.code() <= static_cast<uint32_t>(StatusCode::kUnauthenticated);
    return Status(is_error ? static_cast<StatusCode>(end.code()) : StatusCode::kUnknown, end.error());
  }
  JoinResponse response;
  RETURN_IF_ERROR(receiver.ParseMessage(FrameKind::kJoined, &response));
  return response;
}

// Calls TryToConnect with the timeout kAttemptTimeout. Returns Unavailable, so that Retry makes another attempt, if
// this timeout has passed, but the deadline of `wait` has not.
Result<RingSocket> ConnectOnce(const std::string& address, RingTls* tls, const RingWait& wait) {
  const RingWait attempt(wait.deadline().AtMost(kAttemptTimeout), wait.stop());
  Result<RingSocket> connected = TryToConnect(address, tls, attempt);
  if (connected.status().code() != StatusCode::kDeadlineExceeded || wait.deadline().HasPassed()) return connected;
  return Unavailable("no connection within " + std::to_string(kAttemptTimeout.count()) + " s");
}

}  // namespace

Result<RingSocket> ConnectToRank(Rank rank, const std::string& address, RingTls* tls, const RingWait& wait) {
  return Retry(rank, address, wait, [&] { return ConnectOnce(address, tls, wait); });
}

Result<JoinResponse> JoinAtRank0(const std::string& address, const JoinRequest& request, RingTls* tls,
                                 const RingWait& wait) {
  return Retry(Rank(0), address, wait, [&]() -> Result<JoinResponse> {
    ASSIGN_OR_RETURN(RingSocket socket, ConnectOnce(address, tls, wait));
    RETURN_IF_ERROR(SendAll(socket, EncodeMessageFrame(FrameKind::kJoin, request), wait));
    return ReceiveResponse(socket, wait);
  });
}

}  // namespace espalier::client
