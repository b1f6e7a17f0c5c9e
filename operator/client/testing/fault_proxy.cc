// One thread polls all sockets and moves the bytes; every call of a test runs as a command on this thread (Run), so
// that links need no locks. Bytes wait in chunks with a due time, which implements delays. A port stays reserved by a
// bound socket while new connections are refused.
#include "operator/client/testing/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace espalier::ctl::client {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kMaxQueuedBytes = 256 << 10;  // with more, the proxy stops reading from the sender

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Closes the socket with a TCP reset.
void Reset(int descriptor) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close(descriptor);
}

void DisableNagle(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

// Two sockets and the bytes between them. Used only by the loop's thread.
class FaultProxy::Link {
 public:
  Link(FaultProxy& proxy, int client, int server)
      : proxy_(proxy), to_server_{client, server}, to_client_{server, client} {}
  ~Link() {
    for (const int descriptor : {to_server_.from, to_server_.to}) {
      if (descriptor >= 0) Reset(descriptor);
    }
  }

  void Silence() { is_lost_ = true; }

  // Appends the events to wait for: those of the client's socket, then those of the server's.
  void Want(std::vector<pollfd>* fds) const {
    const auto events = [this](const Way& in, const Way& out) {
      if (is_lost_ || proxy_.is_silent_) return 0;
      int wanted = !in.has_ended && in.queued_bytes < kMaxQueuedBytes ? POLLIN : 0;
      if (!out.chunks.empty() && out.chunks.front().due <= Clock::Real().Now()) wanted |= POLLOUT;
      return wanted;
    };
    fds->push_back({to_server_.from, static_cast<int16_t>(events(to_server_, to_client_)), 0});
    fds->push_back({to_client_.from, static_cast<int16_t>(events(to_client_, to_server_)), 0});
  }

  std::optional<SteadyTime> NextDue() const {
    std::optional<SteadyTime> due;
    if (is_lost_ || proxy_.is_silent_) return due;
    for (const Way* way : {&to_server_, &to_client_}) {
      if (!way->chunks.empty() && (!due || way->chunks.front().due < *due)) due = way->chunks.front().due;
    }
    return due;
  }

  // Moves bytes in both directions. Returns false if the connection has ended.
  bool Pump(int client_events, int server_events) {
    if (is_lost_ || proxy_.is_silent_) return true;
    if (!Read(to_server_, client_events) || !Read(to_client_, server_events)) return false;
    if (!Write(to_server_) || !Write(to_client_)) return false;
    return !(to_server_.has_ended && to_client_.has_ended && to_server_.chunks.empty() && to_client_.chunks.empty());
  }

 private:
  struct Chunk {
    SteadyTime due;
    std::string bytes;
  };
  struct Way {  // one direction
    int from = -1;
    int to = -1;
    std::deque<Chunk> chunks;
    size_t queued_bytes = 0;
    bool has_ended = false;
    bool has_told_end = false;
  };

  bool Read(Way& way, int events) {
    if ((events & (POLLIN | POLLHUP | POLLERR)) == 0 || way.has_ended) return true;
    std::string bytes(kReadBytes, '\0');
    const ssize_t got = recv(way.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) {
      way.has_ended = true;
      return true;
    }
    bytes.resize(static_cast<size_t>(got));
    way.queued_bytes += bytes.size();
    way.chunks.push_back({Clock::Real().Now() + proxy_.delay_, std::move(bytes)});
    return true;
  }

  bool Write(Way& way) {
    while (!way.chunks.empty() && way.chunks.front().due <= Clock::Real().Now()) {
      std::string& bytes = way.chunks.front().bytes;
      size_t allowed = bytes.size();
      const bool is_cut = &way == &to_client_ && proxy_.bytes_until_cut_.has_value();
      if (is_cut) allowed = std::min(allowed, static_cast<size_t>(*proxy_.bytes_until_cut_));
      const ssize_t sent = allowed == 0 ? 0 : send(way.to, bytes.data(), allowed, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
      way.queued_bytes -= static_cast<size_t>(sent);
      if (&way == &to_client_) proxy_.counts_.bytes_to_client += sent;
      if (is_cut) {
        *proxy_.bytes_until_cut_ -= sent;
        if (static_cast<size_t>(sent) < bytes.size() && *proxy_.bytes_until_cut_ == 0) {
          proxy_.bytes_until_cut_.reset();
          return false;
        }
      }
      bytes.erase(0, static_cast<size_t>(sent));
      if (!bytes.empty()) return true;  // the receiver takes no more now
      way.chunks.pop_front();
    }
    if (way.has_ended && way.chunks.empty() && !std::exchange(way.has_told_end, true)) shutdown(way.to, SHUT_WR);
    return true;
  }

  FaultProxy& proxy_;
  Way to_server_, to_client_;
  bool is_lost_ = false;
};

Result<std::unique_ptr<FaultProxy>> FaultProxy::Start(uint16_t to_port) {
  std::unique_ptr<FaultProxy> proxy(new FaultProxy);
  proxy->to_port_ = to_port;
  proxy->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (proxy->wake_ < 0) return FromErrno(errno, "making an eventfd");
  ASSIGN_OR_RETURN(proxy->reserved_, proxy->BoundSocket(0));
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  if (getsockname(proxy->reserved_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return FromErrno(errno, "reading a socket's address");
  }
  proxy->port_ = ntohs(address.sin_port);
  RETURN_IF_ERROR(proxy->Listen());
  proxy->loop_ = std::thread([loop = proxy.get()] { loop->Loop(); });
  return proxy;
}

FaultProxy::~FaultProxy() {
  if (loop_.joinable()) {
    Run([this] { is_ending_ = true; });
    loop_.join();
  }
  links_.clear();
  for (const int descriptor : {listener_, reserved_, wake_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

Result<int> FaultProxy::BoundSocket(uint16_t port) const {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return FromErrno(errno, "making a socket");
  const int on = 1;
  const sockaddr_in address = Loopback(port);
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0 ||
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    close(descriptor);
    return FromErrno(error, "binding a port");
  }
  return descriptor;
}

Status FaultProxy::Listen() {
  ASSIGN_OR_RETURN(const int descriptor, BoundSocket(port_));
  if (listen(descriptor, SOMAXCONN) != 0) {
    const int error = errno;
    close(descriptor);
    return FromErrno(error, "listening");
  }
  listener_ = descriptor;
  return {};
}

void FaultProxy::Run(std::function<void()> command) {
  bool is_done = false;  // guarded by mutex_
  MutexLock lock(&mutex_);
  commands_.push_back([&command, &is_done] {
    command();
    is_done = true;
  });
  const uint64_t one = 1;
  ESPALIER_CHECK(write(wake_, &one, sizeof(one)) == sizeof(one));
  mutex_.Await([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_done; });
}

void FaultProxy::RunCommands() {
  uint64_t ignored = 0;
  if (read(wake_, &ignored, sizeof(ignored)) < 0) return;  // no command
  MutexLock lock(&mutex_);
  while (!commands_.empty()) {
    commands_.front()();
    commands_.pop_front();
  }
}

void FaultProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  if (is_silent_) {  // no connection to the server
    ++counts_.accepted;
    links_.push_back(std::make_unique<Link>(*this, client, /*server=*/-1));
    links_.back()->Silence();
    return;
  }
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_in address = Loopback(to_port_);
  if (server < 0 ||
      (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 && errno != EINPROGRESS)) {
    Reset(client);
    if (server >= 0) close(server);
    return;
  }
  DisableNagle(client);
  DisableNagle(server);
  ++counts_.accepted;
  links_.push_back(std::make_unique<Link>(*this, client, server));
}

void FaultProxy::Loop() {
  while (!is_ending_) {
    std::vector<pollfd> fds = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};  // poll ignores negative descriptors
    std::optional<SteadyTime> due;
    for (const auto& link : links_) {
      link->Want(&fds);
      const std::optional<SteadyTime> next = link->NextDue();
      if (next && (!due || *next < *due)) due = next;
    }
    // poll reports a reset even for a socket without events; without this, lost links would keep the loop busy.
    for (pollfd& fd : fds) fd.fd = fd.events == 0 ? -1 : fd.fd;
    int wait_ms = -1;
    if (due && *due > Clock::Real().Now()) {
      wait_ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*due - Clock::Real().Now()).count());
    }
    if (poll(fds.data(), fds.size(), wait_ms) < 0 && errno != EINTR) return;
    for (size_t i = links_.size(); i-- > 0;) {
      if (!links_[i]->Pump(fds[2 + 2 * i].revents, fds[3 + 2 * i].revents)) {
        links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if ((fds[1].revents & POLLIN) != 0) Accept();
    RunCommands();
  }
}

void FaultProxy::Drop() {
  Run([this] { links_.clear(); });
}

void FaultProxy::Refuse(bool refuse) {
  Run([this, refuse] {
    if (refuse && listener_ >= 0) close(std::exchange(listener_, -1));
    if (!refuse && listener_ < 0) {
      const Status listening = Listen();
      ESPALIER_CHECK(listening.ok()) << listening.ToString();
    }
  });
}

void FaultProxy::Delay(std::chrono::milliseconds delay) {
  Run([this, delay] { delay_ = delay; });
}

void FaultProxy::CutAfter(int64_t num_bytes) {
  Run([this, num_bytes] { bytes_until_cut_ = num_bytes; });
}

void FaultProxy::Silence(bool silent) {
  Run([this, silent] {
    is_silent_ = silent;
    for (const auto& link : links_) link->Silence();
  });
}

FaultProxy::Counts FaultProxy::counts() {
  Counts counts;
  Run([&] {
    counts = counts_;
    counts.open = static_cast<int64_t>(links_.size());
  });
  return counts;
}

}  // namespace espalier::ctl::client
