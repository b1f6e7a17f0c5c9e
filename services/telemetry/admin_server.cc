// One thread calls poll() on the listening socket, a wake-up pipe and the connections. Each connection is a small state
// machine: read a request head, respond once, send, close. Nothing blocks, so a slow peer only occupies a slot until
// its deadline. The server keeps a spare descriptor, so that a process that has run out of descriptors can still accept
// and close a connection; otherwise the pending connection would make poll() return immediately forever.
#include "services/telemetry/admin_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <thread>
#include <utility>

#include "services/base/check.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/telemetry/http_request.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::telemetry {
namespace {

constexpr std::chrono::milliseconds kPauseWithoutResources{100};
constexpr int kMaxWaiting = 8;  // concurrent requests for /readyz?wait; further requests get a response at once

bool WouldBlock(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

}  // namespace

class AdminServer::Impl {
 public:
  Impl(const AdminServerOptions& options, ListenSocket socket, MetricRegistry& registry)
      : options_(options),
        socket_(std::move(socket)),
        registry_(registry),
        requests_(registry.AddCounter("espalier_admin_requests_total", "Requests served on the admin port.")),
        dropped_(registry.AddCounter("espalier_admin_dropped_connections_total",
                                     "Admin connections closed without a response: too slow, too many, or broken.")) {
    ESPALIER_CHECK(pipe2(wake_.data(), O_CLOEXEC | O_NONBLOCK) == 0) << "pipe2: errno " << errno;
    OpenReserve();
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    close(wake_[1]);  // the read end becomes readable (hung up) and the loop ends
    thread_.join();
    close(wake_[0]);
    CloseReserve();
    for (const Connection& connection : connections_) close(connection.descriptor);
    close(socket_.descriptor);
  }

  const std::string& address() const { return socket_.address; }

  void SetUnreadyReason(std::string reason) {
    {
      MutexLock lock(&mutex_);
      unready_reason_ = std::move(reason);
      if (!unready_reason_.empty() || std::exchange(has_been_ready_, true)) return;
    }
    const char byte = 0;  // wakes the loop, which responds to waiting requests
    ESPALIER_CHECK(write(wake_[1], &byte, 1) == 1) << "write: errno " << errno;
  }

  void SetLivenessCheck(std::function<std::string()> check) {
    MutexLock lock(&provider_mutex_);
    liveness_check_ = std::move(check);
  }

  void SetStatusProvider(std::function<std::string()> provider) {
    MutexLock lock(&provider_mutex_);
    status_provider_ = std::move(provider);
  }

 private:
  struct Connection {
    int descriptor = -1;
    std::unique_ptr<AdminChannel> channel;
    Deadline deadline;
    short poll_events = POLLIN;
    std::string received;
    std::string to_send;  // the response; empty until the request has been handled
    size_t sent = 0;
    bool awaits_ready = false;
    bool done = false;
  };

  void Run();
  void Accept();
  void AddConnection(int descriptor);
  void RejectConnection();
  void OpenReserve() { reserve_ = open("/dev/null", O_RDONLY | O_CLOEXEC); }
  void CloseReserve() {
    if (reserve_ >= 0) close(std::exchange(reserve_, -1));
  }
  void Receive(Connection& connection);
  void HandleRequest(Connection& connection);
  void Respond(Connection& connection, const HttpResponse& response);
  void Send(Connection& connection);
  bool HasBeenReady();
  // Reads the bytes of the wake-up pipe. Returns false if the loop must end.
  bool ReadWakeUp();
  void Drop(Connection& connection);
  void DropOldest();
  HttpResponse Answer(const std::optional<HttpRequest>& request);
  std::optional<HttpResponse> FindRefusal(const HttpRequest& request) const;
  HttpResponse AnswerPath(const std::string& path);
  // Returns the timeout of poll() in milliseconds, or -1 for none. `accepts`: poll() watches the listening socket.
  int ComputePollTimeout(bool accepts) const;

  const AdminServerOptions options_;  // fixed after construction
  const ListenSocket socket_;
  MetricRegistry& registry_;  // must outlive this object
  Counter requests_;
  Counter dropped_;
  std::array<int, 2> wake_ = {-1, -1};

  Mutex mutex_;
  std::string unready_reason_ ABSL_GUARDED_BY(mutex_) = "starting";  // empty: ready
  bool has_been_ready_ ABSL_GUARDED_BY(mutex_) = false;
  Mutex provider_mutex_;  // held while one of the functions below runs
  std::function<std::string()> status_provider_ ABSL_GUARDED_BY(provider_mutex_);
  std::function<std::string()> liveness_check_ ABSL_GUARDED_BY(provider_mutex_);

  // Once thread_ has started, only it uses the members below.
  int reserve_ = -1;  // the spare descriptor; -1: the process had no descriptor left
  Deadline accepts_again_ = Deadline::After(std::chrono::seconds(0));
  std::list<Connection> connections_;  // oldest first
  std::thread thread_;
};

void AdminServer::Impl::Run() {
  std::vector<pollfd> polled;
  while (true) {
    const bool accepts = accepts_again_.HasPassed();
    polled.assign({{wake_[0], POLLIN, 0}, {accepts ? socket_.descriptor : -1, POLLIN, 0}});
    for (const Connection& connection : connections_) {
      polled.push_back({connection.descriptor, connection.poll_events, 0});
    }
    if (poll(polled.data(), polled.size(), ComputePollTimeout(accepts)) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0 && !ReadWakeUp()) return;

    size_t slot = 2;
    const bool has_been_ready = HasBeenReady();
    for (Connection& connection : connections_) {
      if (polled[slot++].revents != 0) connection.to_send.empty() ? Receive(connection) : Send(connection);
      if (!connection.done && connection.awaits_ready && (has_been_ready || connection.deadline.HasPassed())) {
        Respond(connection, AnswerPath("/readyz"));
      }
      if (!connection.done && connection.deadline.HasPassed()) Drop(connection);
    }
    connections_.remove_if([](const Connection& connection) { return connection.done; });
    if (polled[1].revents != 0) Accept();
  }
}

int AdminServer::Impl::ComputePollTimeout(bool accepts) const {
  if (connections_.empty() && accepts) return -1;
  auto left = std::chrono::nanoseconds::max();
  for (const Connection& connection : connections_) {
    left = std::min<std::chrono::nanoseconds>(left, connection.deadline.Remaining());
  }
  if (!accepts) left = std::min(left, accepts_again_.Remaining());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

void AdminServer::Impl::Accept() {
  const int descriptor = accept4(socket_.descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) {
    if (connections_.size() >= options_.max_connections) DropOldest();
    AddConnection(descriptor);
  } else if (errno == EMFILE || errno == ENFILE) {
    // Frees the descriptor of the oldest connection, so that the next call can accept the pending one. Without
    // connections, rejects the pending one.
    connections_.empty() ? RejectConnection() : DropOldest();
  } else if (errno == ENOBUFS || errno == ENOMEM) {
    accepts_again_ = Deadline::After(kPauseWithoutResources);
  }
  connections_.remove_if([](const Connection& connection) { return connection.done; });
}

void AdminServer::Impl::AddConnection(int descriptor) {
  std::unique_ptr<AdminChannel> channel = options_.open_channel(descriptor);
  if (channel == nullptr) {
    dropped_.Add();
    close(descriptor);
    return;
  }
  connections_.push_back({.descriptor = descriptor,
                          .channel = std::move(channel),
                          .deadline = Deadline::After(options_.connection_deadline)});
}

void AdminServer::Impl::RejectConnection() {
  CloseReserve();
  const int descriptor = accept4(socket_.descriptor, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor >= 0) {
    close(descriptor);
    dropped_.Add();
  } else if (!WouldBlock(errno)) {
    accepts_again_ = Deadline::After(kPauseWithoutResources);
  }
  OpenReserve();
}

// Reads until the request is complete, because an encrypted channel may hold bytes that poll() does not see.
void AdminServer::Impl::Receive(Connection& connection) {
  while (!connection.done && connection.to_send.empty()) {
    std::array<char, 4096> buffer;
    const Transfer transfer = connection.channel->Receive(buffer);
    if (transfer.state == Transfer::State::kFinished) return Drop(connection);
    if (transfer.state == Transfer::State::kWaits) {
      connection.poll_events = transfer.poll_events;
      return;
    }
    if (connection.awaits_ready) return;  // the request is complete; further bytes are ignored
    connection.received.append(buffer.data(), transfer.count);
    if (connection.received.size() > options_.max_request_bytes) {
      return Respond(connection, {.status = 431, .body = "request too large\n"});
    }
    if (HasCompleteHead(connection.received)) return HandleRequest(connection);
  }
}

void AdminServer::Impl::HandleRequest(Connection& connection) {
  const std::optional<HttpRequest> request = ParseRequest(connection.received);
  const bool may_wait = options_.paths != AdminPaths::kMetrics && request && request->method == "GET" &&
                        request->path == "/readyz" && request->query == "wait";
  const auto num_waiting = std::count_if(connections_.begin(), connections_.end(),
                                         [](const Connection& other) { return other.awaits_ready; });
  if (may_wait && num_waiting < kMaxWaiting && !HasBeenReady()) {
    if (std::optional<HttpResponse> refusal = FindRefusal(*request)) return Respond(connection, *refusal);
    connection.awaits_ready = true;
    connection.deadline = Deadline::After(options_.start_wait);
    return;
  }
  Respond(connection, Answer(request));
}

bool AdminServer::Impl::HasBeenReady() {
  MutexLock lock(&mutex_);
  return has_been_ready_;
}

bool AdminServer::Impl::ReadWakeUp() {
  std::array<char, 64> bytes;
  const ssize_t count = read(wake_[0], bytes.data(), bytes.size());
  return count > 0 || (count < 0 && WouldBlock(errno));
}

void AdminServer::Impl::Respond(Connection& connection, const HttpResponse& response) {
  connection.awaits_ready = false;
  connection.deadline = Deadline::After(options_.connection_deadline);
  connection.to_send = SerializeResponse(response, !connection.received.starts_with("HEAD "));
  requests_.Add();
  Send(connection);
}

void AdminServer::Impl::Send(Connection& connection) {
  const Transfer transfer = connection.channel->Send(std::string_view(connection.to_send).substr(connection.sent));
  connection.poll_events = transfer.state == Transfer::State::kWaits ? transfer.poll_events : POLLOUT;
  if (transfer.state == Transfer::State::kWaits) return;
  if (transfer.state == Transfer::State::kFinished) return Drop(connection);
  connection.sent += transfer.count;
  if (connection.sent < connection.to_send.size()) return;
  connection.channel->Finish();
  // Unread bytes of the request would make close() reset the connection, which could discard the response.
  shutdown(connection.descriptor, SHUT_WR);
  std::array<char, 4096> rest;
  for (int i = 0; i < 64 && recv(connection.descriptor, rest.data(), rest.size(), 0) > 0; ++i) {
  }
  close(connection.descriptor);
  connection.done = true;
}

void AdminServer::Impl::Drop(Connection& connection) {
  dropped_.Add();  // before close(), so that the count is correct when the peer sees the end
  close(connection.descriptor);
  connection.done = true;
}

// Drops the oldest connection that does not wait for readiness, or the oldest one if all wait: those that wait are
// probes of the kubelet.
void AdminServer::Impl::DropOldest() {
  const auto other = std::find_if(connections_.begin(), connections_.end(), [](const Connection& connection) {
    return !connection.awaits_ready && !connection.done;
  });
  Drop(other != connections_.end() ? *other : connections_.front());
}

HttpResponse AdminServer::Impl::Answer(const std::optional<HttpRequest>& request) {
  if (!request.has_value()) return {.status = 400, .body = "not an HTTP request\n"};
  if (request->method != "GET" && request->method != "HEAD") {
    return {.status = 405, .body = "only GET and HEAD\n"};
  }
  if (std::optional<HttpResponse> refusal = FindRefusal(*request)) return *std::move(refusal);
  return AnswerPath(request->path);
}

std::optional<HttpResponse> AdminServer::Impl::FindRefusal(const HttpRequest& request) const {
  return options_.guard ? options_.guard(request) : std::nullopt;
}

HttpResponse AdminServer::Impl::AnswerPath(const std::string& path) {
  const bool serves_metrics = options_.paths != AdminPaths::kAllButMetrics;
  const bool serves_others = options_.paths != AdminPaths::kMetrics;
  if (serves_others && path == "/livez") {
    MutexLock lock(&provider_mutex_);
    const std::string problem = liveness_check_ ? liveness_check_() : std::string();
    if (problem.empty()) return {.body = "ok\n"};
    return {.status = 503, .body = problem + "\n"};
  }
  if (serves_others && path == "/readyz") {
    MutexLock lock(&mutex_);
    if (unready_reason_.empty()) return {.body = "ok\n"};
    return {.status = 503, .body = unready_reason_ + "\n"};
  }
  if (serves_metrics && path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = registry_.Serialize()};
  }
  if (serves_others && path == "/status") {
    MutexLock lock(&provider_mutex_);
    return {.content_type = "application/json",
            .body = (status_provider_ ? status_provider_() : std::string("{}")) + "\n"};
  }
  return {.status = 404,
          .body = std::string("try") + (serves_metrics ? " /metrics" : "") +
                  (serves_others ? " /livez /readyz /status" : "") + "\n"};
}

Result<std::unique_ptr<AdminServer>> AdminServer::Start(const AdminServerOptions& options, MetricRegistry& registry) {
  ASSIGN_OR_RETURN(ListenSocket socket, ListenOn(options.listen_address));
  return std::unique_ptr<AdminServer>(new AdminServer(std::make_unique<Impl>(options, std::move(socket), registry)));
}

AdminServer::AdminServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServer::~AdminServer() = default;
const std::string& AdminServer::address() const { return impl_->address(); }
void AdminServer::SetReady() { impl_->SetUnreadyReason(""); }
void AdminServer::SetNotReady(const std::string& reason) {
  impl_->SetUnreadyReason(reason.empty() ? "not ready" : reason);
}
void AdminServer::SetLivenessCheck(std::function<std::string()> check) { impl_->SetLivenessCheck(std::move(check)); }
void AdminServer::SetStatusProvider(std::function<std::string()> provider) {
  impl_->SetStatusProvider(std::move(provider));
}

}  // namespace espalier::telemetry
