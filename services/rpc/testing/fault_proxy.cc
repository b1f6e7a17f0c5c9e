#include "services/rpc/testing/fault_proxy.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <vector>

#include "services/base/check.h"
#include "services/base/host_port.h"
#include "services/base/philox.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::rpc::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPieceBytes = 16'384;
// Connections that have sent more are not repeated.
constexpr size_t kMaxRecordedBytes = size_t{8} << 20;
// A repeated connection is closed after the server has sent nothing for this time.
constexpr std::chrono::milliseconds kRepeatLinger{200};

// Connects to the server; -1 if it does not listen.
int ConnectTo(const std::string& address) {
  const Result<HostPort> at = ParseHostPort(address);
  ESPALIER_CHECK(at.ok()) << at.status().ToString();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  ESPALIER_CHECK(getaddrinfo(at->host.c_str(), std::to_string(at->port).c_str(), &hints, &found) == 0);
  int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor >= 0 && connect(descriptor, found->ai_addr, found->ai_addrlen) != 0) {
    close(descriptor);
    descriptor = -1;
  }
  freeaddrinfo(found);
  return descriptor;
}

// Bytes in transit in one direction.
struct Direction {
  int from = -1;
  int to = -1;
  std::string waiting;
  Clock::time_point not_before{};
};

struct Connection {
  int client = -1;  // -1: a repetition
  int server = -1;
  Direction requests, replies;
  std::string recorded;  // all that the client has sent
  Clock::time_point last_bytes = Clock::now();
  bool closed = false;
};

}  // namespace

// Runs on one thread: poll, read pieces, draw faults, forward.
class FaultProxy::Loop {
 public:
  Loop(const FaultProxyOptions& options, int listen_descriptor, int wake_descriptor, Counts& counts)
      : options_(options),
        listen_(listen_descriptor),
        wake_(wake_descriptor),
        counts_(counts),
        random_(options.seed, 0xfa017) {}

  ~Loop() {
    for (Connection& connection : connections_) Close(connection);
    close(listen_);
  }

  void Run() {
    for (;;) {
      std::vector<pollfd> polled = {{wake_, POLLIN, 0}, {listen_, POLLIN, 0}};
      const auto now = Clock::now();
      int timeout_ms = 1000;
      for (const Connection& connection : connections_) {
        for (const Direction* direction : {&connection.requests, &connection.replies}) {
          Watch(*direction, now, polled, timeout_ms);
        }
        if (connection.client < 0) timeout_ms = std::min(timeout_ms, 50);
      }
      if (poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR) return;
      if (polled[0].revents != 0) return;
      if (polled[1].revents != 0) Accept();
      const size_t num_before = connections_.size();
      size_t index = 0;
      for (auto connection = connections_.begin(); connection != connections_.end() && index < num_before; ++index) {
        Serve(*connection);
        connection = connection->closed ? connections_.erase(connection) : std::next(connection);
      }
    }
  }

 private:
  static void Watch(const Direction& direction, Clock::time_point now, std::vector<pollfd>& polled, int& timeout_ms) {
    if (direction.waiting.empty()) {
      if (direction.from >= 0) polled.push_back({direction.from, POLLIN, 0});
    } else if (direction.not_before > now) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(direction.not_before - now);
      timeout_ms = std::min(timeout_ms, static_cast<int>(left.count()));
    } else if (direction.to >= 0) {
      polled.push_back({direction.to, POLLOUT, 0});
    }
  }

  bool Happens(double probability) { return random_.NextUnitDouble() < probability; }

  void Accept() {
    const int client = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = ConnectTo(options_.server);
    if (server < 0) {
      close(client);
      return;
    }
    Connection& connection = connections_.emplace_back();
    connection.client = client;
    connection.server = server;
    connection.requests = {client, server, {}, {}};
    connection.replies = {server, client, {}, {}};
  }

  void Repeat(std::string bytes) {
    const int server = ConnectTo(options_.server);
    if (server < 0) return;
    ++counts_.repeats;
    Connection& connection = connections_.emplace_back();
    connection.server = server;
    connection.requests = {-1, server, std::move(bytes), {}};
    connection.replies = {server, -1, {}, {}};
  }

  static void Close(Connection& connection) {
    if (connection.client >= 0) close(connection.client);
    if (connection.server >= 0) close(connection.server);
    connection.closed = true;
  }

  void Cut(Connection& connection) {
    ++counts_.cuts;
    std::string recorded = std::move(connection.recorded);
    const bool repeats = connection.client >= 0 && recorded.size() <= kMaxRecordedBytes && Happens(options_.repeat);
    Close(connection);
    if (repeats) Repeat(std::move(recorded));
  }

  void Serve(Connection& connection) {
    for (Direction* direction : {&connection.requests, &connection.replies}) {
      if (!connection.closed) Take(connection, *direction);
      if (!connection.closed) Pass(connection, *direction);
    }
    const bool lingers = connection.client >= 0 || Clock::now() - connection.last_bytes < kRepeatLinger;
    if (!connection.closed && !lingers && connection.requests.waiting.empty()) Close(connection);
  }

  // Reads at most one piece and draws its fault.
  void Take(Connection& connection, Direction& direction) {
    if (direction.from < 0 || !direction.waiting.empty()) return;
    std::string piece(kPieceBytes, '\0');
    const ssize_t length = recv(direction.from, piece.data(), piece.size(), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (length <= 0) return Close(connection);
    connection.last_bytes = Clock::now();
    if (direction.to < 0) return;  // replies to a repetition are discarded
    piece.resize(static_cast<size_t>(length));
    if (&direction == &connection.requests && connection.recorded.size() <= kMaxRecordedBytes) {
      connection.recorded += piece;
    }
    if (Happens(options_.cut)) {
      send(direction.to, piece.data(), piece.size() / 2, MSG_DONTWAIT | MSG_NOSIGNAL);
      return Cut(connection);
    }
    if (Happens(options_.delay)) {
      ++counts_.delays;
      direction.not_before =
          Clock::now() + std::chrono::milliseconds(1 + random_.NextBelow(std::max(1u, options_.max_delay_ms)));
    }
    direction.waiting = std::move(piece);
  }

  void Pass(Connection& connection, Direction& direction) {
    if (direction.waiting.empty() || direction.not_before > Clock::now()) return;
    const ssize_t sent =
        send(direction.to, direction.waiting.data(), direction.waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (sent < 0) return Close(connection);
    connection.last_bytes = Clock::now();
    direction.waiting.erase(0, static_cast<size_t>(sent));
  }

  const FaultProxyOptions options_;
  const int listen_;
  const int wake_;
  Counts& counts_;
  PhiloxStream random_;
  std::list<Connection> connections_;
};

FaultProxy::FaultProxy(const FaultProxyOptions& options) {
  const Result<telemetry::ListenSocket> socket = telemetry::ListenOn("127.0.0.1:0");
  ESPALIER_CHECK(socket.ok()) << socket.status().ToString();
  address_ = socket->address;
  wake_descriptor_ = eventfd(0, EFD_CLOEXEC);
  ESPALIER_CHECK(wake_descriptor_ >= 0);
  loop_ = std::make_unique<Loop>(options, socket->descriptor, wake_descriptor_, counts_);
  thread_ = std::jthread([this] { loop_->Run(); });
}

FaultProxy::~FaultProxy() {
  const uint64_t one = 1;
  ESPALIER_CHECK(write(wake_descriptor_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  loop_.reset();
  close(wake_descriptor_);
}

}  // namespace espalier::rpc::testing
