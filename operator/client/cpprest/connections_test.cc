// Tests which connection a request uses, and requests on connections that the server has closed or that are silent.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <set>

#include "operator/client/cpprest/testing/connect.h"

namespace espalier::ctl::client {
namespace {

// Sends `count` concurrent requests; the server responds only after all of them have arrived.
class AllAtOnce {
 public:
  explicit AllAtOnce(int count) : count_(count), all_are_here_(count) {}

  void Arrive() { all_are_here_.arrive_and_wait(); }
  void Answer(ServerConnection& connection) {
    while (const auto request = connection.Read()) {
      if (request->target == "/together") Arrive();
      if (!connection.Answer(200, "ok")) return;
    }
  }
  void Send(HttpTransport& transport) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count_; ++i) {
      threads.emplace_back([&] { EXPECT_TRUE(transport.Send(Get("/together"), InTime()).ok()); });
    }
  }

 private:
  const int count_;
  std::barrier<> all_are_here_;
};

TEST(ConnectionsTest, AreReused) {
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  const auto transport = Connect(PlainTo(server));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(transport->Send(i % 2 == 0 ? Get() : Post("{}"), InTime()).ok());
  EXPECT_EQ(server.num_connections(), 1);
}

TEST(ConnectionsTest, EndedStreamReturnsConnectionToPool) {
  MisbehavingServer server([](ServerConnection& connection) {
    while (connection.Read()) {
      connection.StartChunks();
      connection.EndChunks();
    }
  });
  const auto transport = Connect(PlainTo(server));
  for (int i = 0; i < 100; ++i) {
    const auto stream = transport->Open(Get(), InTime());
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(*stream->lines->Next(InTime()), std::nullopt);
  }
  EXPECT_EQ(server.num_connections(), 1);
}

TEST(ConnectionsTest, TrailersAreNotReadAsNextResponse) {
  MisbehavingServer server([](ServerConnection& connection) {
    connection.Read();
    connection.Write(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n");
    connection.AwaitClose();
  });
  const auto transport = Connect(PlainTo(server));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(transport->Send(Get(), InTime())->body, "ok");
  EXPECT_EQ(server.num_connections(), 3);
}

TEST(ConnectionsTest, RequestsWithBodiesSurviveServerRestart) {
  constexpr int kNumPooled = 20;
  AllAtOnce all(kNumPooled);
  MisbehavingServer server([&](ServerConnection& connection) { all.Answer(connection); });
  const auto transport = Connect(PlainTo(server));
  all.Send(*transport);
  server.StopAndStart();

  std::set<std::string> bodies;
  for (int i = 0; i < kNumPooled; ++i) {
    const std::string body(100000, static_cast<char>('a' + i));
    const Result<HttpResponse> answer = transport->Send(Post(body), InTime());
    EXPECT_TRUE(answer.ok()) << i << ": " << answer.status().ToString();
    bodies.insert(body);
  }
  std::multiset<std::string> seen;
  for (const ReceivedRequest& request : server.requests()) {
    if (request.method == "POST") seen.insert(request.body);
  }
  EXPECT_EQ(seen, std::multiset<std::string>(bodies.begin(), bodies.end()));
}

TEST(ConnectionsTest, ConcurrentRequestsWithBodiesSurviveServerRestart) {
  constexpr int kNumPooled = 20;
  AllAtOnce all(kNumPooled);
  MisbehavingServer server([&](ServerConnection& connection) { all.Answer(connection); });
  const auto transport = Connect(PlainTo(server));
  all.Send(*transport);
  server.StopAndStart();

  std::vector<std::jthread> threads;
  for (int i = 0; i < kNumPooled; ++i) {
    threads.emplace_back([&] {
      const Status status = transport->Send(Post(std::string(100000, 'x')), InTime()).status();
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
}

TEST(ConnectionsTest, DoesNotRetryNonIdempotentRequests) {
  MisbehavingServer server([](ServerConnection& connection) {
    if (!connection.Read()) return;
    connection.Answer(200, "ok");
    connection.Read();  // reads the second request, then closes the connection
  });
  const auto transport = Connect(PlainTo(server));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(transport->Send(Get("/first"), InTime()).ok());
    kube::HttpRequest request = Post("{\"generateName\":\"x-\"}");
    request.repeatable = false;
    ASSERT_TRUE(transport->Send(request, InTime()).ok());
  }
  int num_posts = 0;
  for (const ReceivedRequest& request : server.requests()) num_posts += request.method == "POST" ? 1 : 0;
  EXPECT_EQ(num_posts, 10);
}

TEST(ConnectionsTest, DoesNotRetryAfterServerReadRequest) {
  MisbehavingServer server([](ServerConnection& connection) { connection.Read(); });
  kube::HttpRequest request = Post("{}");
  request.repeatable = false;
  EXPECT_EQ(Connect(PlainTo(server))->Send(request, InTime()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(server.requests().size(), 1u);
}

// The library sends the request again, to a closed port, and reports that it could not connect.
TEST(ConnectionsTest, DoesNotRetryIfServerIsGoneAfterReading) {
  for (const std::string body : {"", "{}"}) {
    MisbehavingServer server([](ServerConnection& connection) {
      if (!connection.Read()) return;
      connection.Answer(200, "ok");
      connection.Read();
      connection.AwaitClose();
    });
    const auto transport = Connect(PlainTo(server));
    ASSERT_TRUE(transport->Send(Get(), InTime()).ok());
    std::jthread killer([&] {
      server.AwaitRequests(2);
      server.Stop();
    });
    const Status status = transport->Send(Post(body), InTime()).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
  }
}

TEST(ConnectionsTest, RefusedConnectionMeansNotSent) {
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  const auto transport = Connect(PlainTo(server));
  ASSERT_TRUE(transport->Send(Get(), InTime()).ok());
  server.Stop();
  for (int i = 0; i < 2; ++i) {
    const Status status = transport->Send(Post(std::string(100000, 'x')), InTime()).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
    EXPECT_THAT(status.message(), testing::HasSubstr("127.0.0.1:" + std::to_string(server.port())));
  }
  server.Start();
  EXPECT_TRUE(transport->Send(Post("{}"), InTime()).ok());
}

// Each of these requests leaves a task in the library that fails after the caller has given up. By default the library
// would then terminate the process.
TEST(ConnectionsTest, AbandonedRequestsDoNotTerminateProcess) {
  MisbehavingServer server([](ServerConnection& connection) {
    switch (connection.number() % 4) {
      case 0: return connection.Reset();
      case 1: return static_cast<void>(connection.Read());
      case 2:
        connection.Read();
        connection.StartChunks();
        connection.Chunk("half");
        return connection.Reset();
      default: return connection.AwaitClose();
    }
  });
  const auto transport = Connect(PlainTo(server));
  for (int i = 0; i < 400; ++i) {
    const Deadline soon = Deadline::After(std::chrono::microseconds(10 * i));
    EXPECT_FALSE(transport->Send(Post(std::string(1000, 'x')), soon).ok());
    if (i % 2 == 0) static_cast<void>(transport->Open(Get(), soon));
  }
  EXPECT_TRUE(server.AwaitNoConnections());
}

TEST(ConnectionsTest, UnresolvableNameIsConnectError) {
  const auto transport = Connect({.host = "does-not-exist.invalid", .port = 443, .tls = false});
  const Status status = transport->Send(Get(), InTime()).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
}

TEST(ConnectionsTest, ReconnectsIfServerFallsSilent) {
  enum Phase { kTalks, kSilent, kTalksToNewOnes };
  std::atomic<Phase> phase{kTalks};
  AllAtOnce all(5);
  MisbehavingServer server([&](ServerConnection& connection) {
    const Phase accepted_in = phase.load();
    while (connection.Read()) {
      if (phase.load() != accepted_in || accepted_in == kSilent) continue;
      if (accepted_in == kTalks) all.Arrive();
      connection.Answer(200, "ok");
    }
  });
  const auto transport = Connect(PlainTo(server));
  all.Send(*transport);
  phase = kSilent;
  const Deadline soon = Deadline::After(std::chrono::milliseconds(100));
  EXPECT_EQ(transport->Send(Get(), soon).status().code(), StatusCode::kDeadlineExceeded);
  phase = kTalksToNewOnes;
  EXPECT_TRUE(transport->Send(Get(), InTime()).ok());  // one timeout retires all five connections
}

// Returns the descriptors of this process that are connected to `port`.
std::vector<int> ConnectedTo(uint16_t port) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.sin_family == AF_INET &&
        ntohs(peer.sin_port) == port) {
      found.push_back(descriptor);
    }
  }
  return found;
}

int OptionOf(int descriptor, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  getsockopt(descriptor, level, name, &value, &size);
  return value;
}

TEST(ConnectionsTest, EnablesKeepAliveAndCloseOnExec) {
  TestAuthority authority("a");
  for (const bool tls : {false, true}) {
    ServerOptions options;
    if (tls) options.certificate = authority.Issue({.alternative_names = "IP:127.0.0.1"});
    MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); }, options);
    Connection connection = PlainTo(server);
    connection.tls = tls;
    connection.ca_pem = authority.pem();
    const auto transport = Connect(connection);
    ASSERT_TRUE(transport->Send(Get(), InTime()).ok());

    const std::vector<int> descriptors = ConnectedTo(server.port());
    ASSERT_EQ(descriptors.size(), 1u);
    EXPECT_EQ(OptionOf(descriptors[0], SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(OptionOf(descriptors[0], IPPROTO_TCP, TCP_KEEPIDLE), 15);
    EXPECT_EQ(OptionOf(descriptors[0], IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
    EXPECT_EQ(fcntl(descriptors[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  }
}

TEST(ConnectionsTest, ReachAnIPv6Host) {
  const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in6 loopback{.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
  const bool has_ipv6 = probe >= 0 && bind(probe, reinterpret_cast<const sockaddr*>(&loopback), sizeof(loopback)) == 0;
  close(probe);
  if (!has_ipv6) GTEST_SKIP() << "no IPv6 on this machine";

  TestAuthority authority("a");
  ServerOptions options{.host = "::1", .certificate = authority.Issue({.alternative_names = "IP:::1"})};
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); }, options);
  const auto transport = Connect({.host = "::1", .port = server.port(), .ca_pem = authority.pem()});
  for (int i = 0; i < 2; ++i) {
    const Status status = transport->Send(Get("/api?limit=1"), InTime()).status();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_EQ(server.requests().at(0).headers.at("host"), "[::1]:" + std::to_string(server.port()));
  EXPECT_EQ(server.requests().at(0).target, "/api?limit=1");
}

TEST(ConnectionsTest, UseProxyInPlaintext) {
  MisbehavingServer proxy([](ServerConnection& connection) { connection.AnswerAll(); });
  Connection connection{.host = "127.0.0.5", .port = 8001, .tls = false};
  connection.proxy_url = "http://user:pass%3Aword@127.0.0.1:" + std::to_string(proxy.port());
  ASSERT_TRUE(Connect(connection)->Send(Get("/api"), InTime()).ok());
  EXPECT_EQ(proxy.requests().at(0).target, "http://127.0.0.5:8001/api");
  EXPECT_EQ(proxy.requests().at(0).headers.at("proxy-authorization"), "Basic dXNlcjpwYXNzOndvcmQ=");
}

TEST(ConnectionsTest, UseProxyWithTls) {
  TestAuthority authority("a");
  std::string connect_target;
  ServerOptions options{.certificate = authority.Issue({.alternative_names = "DNS:kubernetes"}),
                        .starts_with_tls = false};
  MisbehavingServer proxy(
      [&](ServerConnection& connection) {
        connect_target = connection.ReadHead()->target;
        connection.Write("HTTP/1.1 200 Connected\r\n\r\n");
        if (connection.StartTls()) connection.AnswerAll();
      },
      options);
  Connection connection{.host = "api.example", .port = 6443, .server_name = "kubernetes", .ca_pem = authority.pem()};
  connection.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
  const auto transport = Connect(connection);
  for (int i = 0; i < 2; ++i) {
    const Status status = transport->Send(Post("{}"), InTime()).status();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_EQ(connect_target, "api.example:6443");
  EXPECT_EQ(proxy.requests().at(0).server_name, "kubernetes");
  EXPECT_EQ(proxy.requests().at(0).target, "/api/v1/pods");
}

TEST(ConnectionsTest, SilentProxyTimesOut) {
  MisbehavingServer proxy([](ServerConnection& connection) {
    connection.ReadHead();
    connection.AwaitClose();
  });
  Connection connection{.host = "api.example", .port = 6443, .ca_pem = MachineAuthority().pem()};
  connection.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
  const auto transport = Connect(connection, {.tunnel_timeout = std::chrono::milliseconds(300)});
  for (int i = 0; i < 5; ++i) {
    const Deadline soon = Deadline::After(std::chrono::milliseconds(50));
    EXPECT_EQ(transport->Send(Get(), soon).status().code(), StatusCode::kDeadlineExceeded);
  }
  EXPECT_GT(proxy.num_connections(), 0);
  EXPECT_TRUE(proxy.AwaitNoConnections());
}

TEST(ConnectionsTest, RefusingProxyIsConnectError) {
  const std::vector<std::string> answers = {"HTTP/1.1 403 No\r\n\r\n", "", "nonsense\r\n\r\n"};
  for (const std::string& answer : answers) {
    MisbehavingServer proxy([&](ServerConnection& connection) {
      connection.ReadHead();
      connection.Write(answer);
    });
    Connection connection{.host = "api.example", .port = 6443, .ca_pem = MachineAuthority().pem()};
    connection.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
    const Status status = Connect(connection)->Send(Post("{}"), InTime()).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << answer << ": " << status.ToString();
  }
}

}  // namespace
}  // namespace espalier::ctl::client
