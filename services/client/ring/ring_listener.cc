// One loop polls the listening socket and all connections. The stages of a connection are handshake, first message and
// response. After a JoinRequest a connection waits for the response until the group is complete; after a Greeting the
// link takes the connection over. The number of connections that do not wait for a response is limited, so that
// processes that are not ranks cannot use up memory and descriptors.
#include "services/client/ring/ring_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "services/base/host_port.h"
#include "services/base/shorten.h"
#include "services/client/ring/ring_system_error.h"
#include "services/rpc/handshake_log.h"
#include "services/rpc/status_map.h"

namespace espalier::client {
namespace {

constexpr int kBacklog = 1024;  // large, because all ranks may connect to rank 0 at once
// Limit of connections that do not wait for the response to a JoinRequest ("unidentified"): kMaxUnidentified, plus
// kUnidentifiedPerRank for each rank. All ranks may be in their handshakes at once, and a rank may join again, or join
// and greet, before the end of its earlier connection is detected. Beyond the limit a new connection replaces the
// oldest unidentified connection.
constexpr int kMaxUnidentified = 256;
constexpr int kUnidentifiedPerRank = 2;
// Timeout of receiving the first message, counted from accepting the connection, and of sending the response, counted
// from when the response is known.
constexpr std::chrono::seconds kMessageTimeout(20);
constexpr int kMaxAcceptedAtOnce = 64;  // before the existing connections advance again
// Longest time without accepting connections after the process or host ran out of descriptors or memory.
constexpr std::chrono::milliseconds kAcceptPause(100);
constexpr size_t kMaxFirstMessageBytes = 4096;

Result<Descriptor> ListenOn(const addrinfo& address) {
  Descriptor descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (descriptor.get() < 0) return RingSystemError(errno, "making a socket");
  const auto set = [&](int level, int option, int value) {
    setsockopt(descriptor.get(), level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) set(IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(descriptor.get(), address.ai_addr, address.ai_addrlen) != 0) return RingSystemError(errno, "binding");
  if (listen(descriptor.get(), kBacklog) != 0) return RingSystemError(errno, "listening");
  return descriptor;
}

Result<Descriptor> ListenOnAny(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return Unavailable(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  Result<Descriptor> listening = Unavailable("the host has no address");
  for (const addrinfo* candidate = found; candidate != nullptr && !listening.ok(); candidate = candidate->ai_next) {
    listening = ListenOn(*candidate);
  }
  return listening;
}

// Returns a listening socket. "0.0.0.0" means all addresses of the host, including IPv6 addresses if it has them.
Result<Descriptor> Listen(const HostPort& listen) {
  if (listen.host == "0.0.0.0") {
    Result<Descriptor> both = ListenOnAny("::", listen.port);
    if (both.ok()) return both;
  }
  return ListenOnAny(listen.host, listen.port);
}

Result<uint16_t> ReadPort(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return FromErrno(errno, "reading the bound port");
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

struct RingListener::Connection {
  RingSocket socket;
  uint64_t number = 0;
  Deadline until = Deadline::Never();  // of the first message, then of sending the response
  bool is_secured = false;             // the handshake is done
  FrameReceiver first_message{kMaxFirstMessageBytes};
  std::optional<uint32_t> joined;  // rank of the accepted JoinRequest
  std::string response;            // frame to send before the connection is closed
  size_t num_sent = 0;             // bytes of the response

  bool IsWaiting() const { return joined.has_value() && response.empty(); }
  short events() const {
    if (!response.empty()) return socket.write_events();
    return is_secured ? socket.read_events() : socket.handshake_events();
  }
};

Result<std::unique_ptr<RingListener>> RingListener::Start(const HostPort& listen, RingTls* tls, RingLink& link,
                                                          RingRendezvous* rendezvous) {
  Result<Descriptor> listening = Listen(listen);
  if (!listening.ok()) return listening.status().While("cannot listen on " + ToString(listen));
  ASSIGN_OR_RETURN(const uint16_t port, ReadPort(listening->get()));
  ASSIGN_OR_RETURN(RingWaker waker, RingWaker::Make());
  try {
    return std::unique_ptr<RingListener>(
        new RingListener(*std::move(listening), std::move(waker), port, tls, link, rendezvous));
  } catch (const std::system_error& error) {
    return ResourceExhausted(std::string("starting the thread of the ring's port: ") + error.what() +
                             "; raise the limit of threads (ulimit -u, or that of the container)");
  }
}

RingListener::RingListener(Descriptor listening, RingWaker waker, uint16_t port, RingTls* tls, RingLink& link,
                           RingRendezvous* rendezvous)
    : listening_(std::move(listening)),
      port_(port),
      tls_(tls),
      link_(link),
      rendezvous_(rendezvous),
      max_unidentified_(kMaxUnidentified + kUnidentifiedPerRank * static_cast<int>(link.size())),
      subject_("the ring's port of trainer " + std::to_string(link.rank().value)),
      waker_(std::move(waker)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

RingListener::~RingListener() {
  thread_.request_stop();
  waker_.Wake();
}

void RingListener::Run(const std::stop_token& stop) {
  bool can_accept = true;
  for (bool last = false; !last;) {
    last = stop.stop_requested();
    std::vector<pollfd> polled = {{.fd = waker_.descriptor(), .events = POLLIN, .revents = 0},
                                  {.fd = can_accept ? listening_.get() : -1, .events = POLLIN, .revents = 0}};
    Deadline next = can_accept ? Deadline::After(std::chrono::hours(1)) : Deadline::After(kAcceptPause);
    for (const Connection& connection : connections_) {
      polled.push_back({.fd = connection.socket.descriptor(), .events = connection.events(), .revents = 0});
      if (connection.until.time() < next.time()) next = connection.until;
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next.Remaining());
    poll(polled.data(), polled.size(), last ? 0 : static_cast<int>(wait.count()));
    waker_.Reset();
    size_t at = 2;
    for (auto connection = connections_.begin(); connection != connections_.end(); ++at) {
      const bool stays = Advance(*connection, polled[at].revents != 0);
      if (!stays && connection->joined.has_value()) rendezvous_->Remove(*connection->joined, connection->number);
      connection = stays ? std::next(connection) : connections_.erase(connection);
    }
    can_accept = polled[1].revents == 0 || Accept();
  }
}

bool RingListener::Accept() {
  for (int i = 0; i < kMaxAcceptedAtOnce; ++i) {
    Descriptor descriptor(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (descriptor.get() < 0) {
      const Status reason = RingSystemError(errno, "accepting a connection");
      if (reason.code() != StatusCode::kResourceExhausted) return true;
      // Close the oldest unidentified connection to free a descriptor.
      rpc::LogRefusal("a connection waits", subject_, reason);
      DropOldestUnidentified();
      return false;
    }
    SetRingSocketOptions(descriptor.get());
    Result<RingSocket> socket = RingSocket::Make(std::move(descriptor), tls_, TlsSide::kAccepts);
    if (!socket.ok()) {
      rpc::LogRefusal("a connection was refused", subject_, socket.status());
      continue;
    }
    const auto num_unidentified = std::count_if(connections_.begin(), connections_.end(),
                                                [](const Connection& connection) { return !connection.IsWaiting(); });
    if (num_unidentified >= max_unidentified_) DropOldestUnidentified();
    connections_.push_back(
        {.socket = *std::move(socket), .number = ++last_number_, .until = Deadline::After(kMessageTimeout)});
  }
  return true;
}

void RingListener::DropOldestUnidentified() {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [](const Connection& connection) { return !connection.IsWaiting(); });
  if (oldest != connections_.end()) connections_.erase(oldest);
}

bool RingListener::Advance(Connection& connection, bool has_event) {
  if (connection.until.HasPassed()) return false;
  if (connection.IsWaiting()) return AwaitResponse(connection, has_event);
  if (!has_event) return true;
  if (connection.response.empty()) return ReceiveFirstMessage(connection);
  return SendResponse(connection);
}

bool RingListener::ReceiveFirstMessage(Connection& connection) {
  if (!connection.is_secured) {
    const Result<bool> done = connection.socket.Handshake();
    // Processes of other jobs are disconnected here. Processes of other roles get the reason from HandleFirstMessage.
    const Status secured = !done.ok() ? done.status() : *done ? connection.socket.CheckPeer(pki::kPeerRoles) : Status();
    if (!secured.ok()) {
      rpc::LogRefusal("a connection was refused", subject_, secured);
      return false;
    }
    connection.is_secured = *done;
    if (!*done) return true;
  }
  const Result<bool> complete = connection.first_message.Receive(connection.socket);
  if (complete.ok() && !*complete) return true;
  // Not logged: probes connect to the port and disconnect.
  if (complete.status().code() == StatusCode::kUnavailable) return false;
  if (const Status handled = complete.ok() ? HandleFirstMessage(connection) : complete.status(); !handled.ok()) {
    Refuse(connection, handled);
    return SendResponse(connection);
  }
  return connection.socket.is_open() && Advance(connection, false);
}

Status RingListener::HandleFirstMessage(Connection& connection) {
  constexpr pki::PeerRole kTrainer = pki::PeerRole::kTrainer;
  RETURN_IF_ERROR(connection.socket.CheckPeer({&kTrainer, 1}).While("the ring refuses this certificate"));
  if (connection.first_message.header().kind == FrameKind::kGreeting) {
    collective::v1::Greeting greeting;
    RETURN_IF_ERROR(connection.first_message.ParseMessage(FrameKind::kGreeting, &greeting));
    return link_.Offer(greeting, connection.socket);
  }
  collective::v1::JoinRequest request;
  RETURN_IF_ERROR(connection.first_message.ParseMessage(FrameKind::kJoin, &request));
  if (rendezvous_ == nullptr) {
    return FailedPrecondition("trainer " + std::to_string(link_.rank().value) +
                              " does not accept a JoinRequest: send it to trainer 0");
  }
  RETURN_IF_ERROR(rendezvous_->Join(request, connection.number));
  connection.joined = request.rank();
  connection.until = Deadline::Never();
  RespondToJoins();  // the group may be complete now
  return Status();
}

bool RingListener::AwaitResponse(Connection& connection, bool has_event) {
  const auto response = rendezvous_->FindResponse(*connection.joined, connection.number);
  if (!response.has_value()) {
    // A rank must not send anything before the response; an event can only be the end of the connection.
    std::byte unexpected{};
    const Result<size_t> received = has_event ? connection.socket.Read({&unexpected, 1}) : size_t{0};
    return received.ok() && *received == 0;
  }
  if (response->ok()) {
    connection.until = Deadline::After(kMessageTimeout);
    connection.response = EncodeMessageFrame(FrameKind::kJoined, **response);
  } else {
    Refuse(connection, response->status());
  }
  return SendResponse(connection);
}

bool RingListener::SendResponse(Connection& connection) {
  while (connection.num_sent < connection.response.size()) {
    const Result<size_t> sent =
        connection.socket.Write(std::as_bytes(std::span(connection.response)).subspan(connection.num_sent));
    if (!sent.ok()) return false;
    if (*sent == 0) return true;
    connection.num_sent += *sent;
  }
  connection.socket.FinishWriting();
  return false;
}

void RingListener::Refuse(Connection& connection, const Status& reason) {
  // Unavailable is not logged: the rank retries.
  if (reason.code() != StatusCode::kUnavailable) rpc::LogRefusal("a connection was refused", subject_, reason);
  collective::v1::End end;
  end.set_error(ShortenMiddle(reason.message(), rpc::kMaxStatusMessageBytes));
  end.set_code(static_cast<uint32_t>(reason.code()));
  connection.response = EncodeMessageFrame(FrameKind::kEnd, end);
  connection.until = Deadline::After(kMessageTimeout);
}

}  // namespace espalier::client
