#include "services/telemetry/admin_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/host_port.h"
#include "services/base/testing/no_descriptors_left.h"
#include "services/telemetry/testing/raw_connection.h"

namespace espalier::telemetry {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct TestServer {
  explicit TestServer(AdminServerOptions options = {}) {
    Result<std::unique_ptr<AdminServer>> started = AdminServer::Start(options, registry);
    ESPALIER_CHECK(started.ok()) << started.status().ToString();
    server = *std::move(started);
  }
  std::string Get(const std::string& path) { return HttpGet(server->address(), path); }
  std::string SendBytes(const std::string& bytes) {
    RawConnection connection(server->address());
    connection.Send(bytes);
    return connection.ReceiveAll();
  }

  MetricRegistry registry;
  std::unique_ptr<AdminServer> server;
};

TEST(AdminServerTest, PicksAPortAndAnswers) {
  TestServer test;

  EXPECT_THAT(test.server->address(), StartsWith("127.0.0.1:"));
  EXPECT_THAT(test.server->address(), Not(EndsWith(":0")));
  EXPECT_THAT(test.Get("/livez"), EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(test.Get("/nowhere"), StartsWith("HTTP/1.1 404 "));
}

TEST(AdminServerTest, IsReadyOnlyAfterSetReady) {
  TestServer test;

  EXPECT_THAT(test.Get("/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("starting\n")));
  test.server->SetReady();
  EXPECT_THAT(test.Get("/readyz"), StartsWith("HTTP/1.1 200 "));
  test.server->SetNotReady("draining");
  EXPECT_THAT(test.Get("/readyz"), EndsWith("draining\n"));
}

TEST(AdminServerTest, AWaitingRequestIsAnsweredWhenTheProcessBecomesReady) {
  TestServer test;
  RawConnection waiting(test.server->address());
  waiting.Send("GET /readyz?wait HTTP/1.1\r\n\r\n");
  EXPECT_THAT(test.Get("/livez"),
              StartsWith("HTTP/1.1 200 "));  // the thread has read the first request before this one
  test.server->SetReady();
  EXPECT_THAT(waiting.ReceiveAll(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(test.Get("/readyz?wait"), StartsWith("HTTP/1.1 200 "));
  test.server->SetNotReady("draining");
  EXPECT_THAT(test.Get("/readyz?wait"), EndsWith("draining\n"));  // at once: it has been ready
}

TEST(AdminServerTest, WaitForReadinessTimesOut) {
  TestServer test({.start_wait = std::chrono::milliseconds(20)});
  EXPECT_THAT(test.Get("/readyz?wait"), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("starting\n")));
  EXPECT_THAT(test.Get("/readyz?other"), StartsWith("HTTP/1.1 503 "));
}

TEST(AdminServerTest, ADestroyedServerDropsWaitingRequests) {
  TestServer test;
  RawConnection waiting(test.server->address());
  waiting.Send("GET /readyz?wait HTTP/1.1\r\n\r\n");
  test.Get("/livez");
  test.server.reset();
  EXPECT_THAT(waiting.ReceiveAll(), IsEmpty());
}

TEST(AdminServerTest, LivenessFollowsCheck) {
  TestServer test;
  test.server->SetLivenessCheck([] { return std::string("the lease was not renewed"); });

  EXPECT_THAT(test.Get("/livez"), AllOf(StartsWith("HTTP/1.1 503 "), EndsWith("the lease was not renewed\n")));
  test.server->SetLivenessCheck([] { return std::string(); });
  EXPECT_THAT(test.Get("/livez"), EndsWith("\r\n\r\nok\n"));
  test.server->SetLivenessCheck(nullptr);
  EXPECT_THAT(test.Get("/livez"), EndsWith("\r\n\r\nok\n"));
}

TEST(AdminServerTest, ServesMetricsAndStatus) {
  TestServer test;
  test.registry.AddCounter("espalier_test_things_total", "Things.", {{"kind", "a"}}).Add(3);
  test.registry.AddProcessMetrics();

  const std::string metrics = test.Get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(metrics, HasSubstr("# HELP espalier_test_things_total Things.\n"));
  EXPECT_THAT(metrics, HasSubstr("espalier_test_things_total{kind=\"a\"} 3\n"));
  EXPECT_THAT(metrics, HasSubstr("espalier_process_resident_bytes "));

  EXPECT_THAT(test.Get("/status"), EndsWith("{}\n"));
  test.server->SetStatusProvider([] { return std::string("{\"epoch\":3}"); });
  EXPECT_THAT(test.Get("/status?x=y"), AllOf(HasSubstr("application/json"), EndsWith("{\"epoch\":3}\n")));
  test.server->SetStatusProvider(nullptr);
  EXPECT_THAT(test.Get("/status"), EndsWith("{}\n"));
}

TEST(AdminServerTest, AnswersHeadWithoutABody) {
  TestServer test;

  const std::string answer = test.SendBytes("HEAD /livez HTTP/1.1\r\n\r\n");

  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(AdminServerTest, ServesOnlyTheGivenPaths) {
  TestServer metrics({.paths = AdminPaths::kMetrics});
  EXPECT_THAT(metrics.Get("/metrics"), StartsWith("HTTP/1.1 200 "));
  for (const char* path : {"/livez", "/readyz", "/readyz?wait", "/status"}) {
    EXPECT_THAT(metrics.Get(path), AllOf(StartsWith("HTTP/1.1 404 "), EndsWith("\r\n\r\ntry /metrics\n"))) << path;
  }
  TestServer others({.paths = AdminPaths::kAllButMetrics});
  EXPECT_THAT(others.Get("/metrics"),
              AllOf(StartsWith("HTTP/1.1 404 "), EndsWith("\r\n\r\ntry /livez /readyz /status\n")));
  EXPECT_THAT(others.Get("/livez"), StartsWith("HTTP/1.1 200 "));
}

TEST(AdminServerTest, AGuardRefusesRequests) {
  TestServer test({.guard = [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.authorization == "Bearer good token") return std::nullopt;
    return HttpResponse{.status = 401, .body = "[" + request.authorization + "]\n", .challenge = "Bearer"};
  }});

  EXPECT_THAT(test.Get("/metrics"), AllOf(StartsWith("HTTP/1.1 401 Unauthorized\r\n"),
                                          HasSubstr("\r\nWWW-Authenticate: Bearer\r\n"), EndsWith("[]\n")));
  EXPECT_THAT(test.Get("/readyz?wait"), StartsWith("HTTP/1.1 401 ")) << "at once, before the wait";
  EXPECT_THAT(test.SendBytes("GET /metrics HTTP/1.1\r\nHost: x\r\naUTHORIZATION: \tBearer good token \r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(test.SendBytes("GET /metrics HTTP/1.1\nAuthorization: first\nAuthorization: Bearer good token\n\n"),
              EndsWith("[first]\n"));
  EXPECT_THAT(test.SendBytes("GET /metrics HTTP/1.1\r\nX-Authorization: Bearer good token\r\n\r\n"), EndsWith("[]\n"));
}

TEST(AdminServerTest, ClosesAConnectionWithoutAChannel) {
  TestServer test({.open_channel = [](int) { return nullptr; }});
  EXPECT_THAT(test.Get("/livez"), IsEmpty());
  EXPECT_THAT(test.registry.Serialize(), HasSubstr("espalier_admin_dropped_connections_total 1\n"));
}

TEST(AdminServerTest, RefusesOtherMethodsAndGarbage) {
  TestServer test;

  EXPECT_THAT(test.SendBytes("POST /status HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(test.SendBytes("\x16\x03\x01 garbage\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(test.SendBytes(std::string("\0\0\0\n\n", 5)), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(test.SendBytes("GET /livez HTTP/9.9\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(test.SendBytes("GET livez HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(test.Get("/livez"), EndsWith("ok\n"));
}

TEST(AdminServerTest, RefusesOversizedRequests) {
  TestServer test({.max_request_bytes = 1024});

  EXPECT_THAT(test.SendBytes("GET /livez HTTP/1.1\r\nX: " + std::string(5000, 'x')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(test.Get("/livez"), EndsWith("ok\n"));
}

TEST(AdminServerTest, DropsHalfOpenRequestsAtTheirDeadline) {
  TestServer test({.connection_deadline = std::chrono::seconds(1)});
  RawConnection silent(test.server->address());
  RawConnection half(test.server->address());
  half.Send("GET /livez HTTP/1.1\r\nX: ");

  EXPECT_THAT(silent.ReceiveAll(), IsEmpty());  // returns because the server closes
  EXPECT_THAT(half.ReceiveAll(), IsEmpty());
  EXPECT_THAT(test.registry.Serialize(), HasSubstr("espalier_admin_dropped_connections_total 2\n"));
}

TEST(AdminServerTest, SlowPeersDoNotBlockOthers) {
  TestServer test({.connection_deadline = std::chrono::hours(1), .max_connections = 4});
  std::vector<std::unique_ptr<RawConnection>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<RawConnection>(test.server->address()));
    slow.back()->Send("GET /li");
  }

  EXPECT_THAT(test.Get("/livez"), EndsWith("ok\n"));
}

TEST(AdminServerTest, SendsLargeAnswersInPieces) {
  TestServer test;
  const std::string large = "\"" + std::string(size_t{8} << 20, 'x') + "\"";
  test.server->SetStatusProvider([&] { return large; });

  EXPECT_THAT(test.Get("/status").size(), testing::Gt(large.size()));
}

TEST(AdminServerTest, ReportsListenError) {
  TestServer first;
  MetricRegistry registry;

  const auto taken = AdminServer::Start({.listen_address = first.server->address()}, registry);
  EXPECT_EQ(taken.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(taken.status().message(),
              HasSubstr("listening on " + first.server->address() + ": Address already in use"));
  for (const char* bad : {"", "nonsense", ":80", "127.0.0.1:99999", "127.0.0.1:x", "::1:80", "127.0.0.1:"}) {
    EXPECT_EQ(AdminServer::Start({.listen_address = bad}, registry).status().code(), StatusCode::kInvalidArgument)
        << bad;
  }
}

TEST(AdminServerTest, RefusesConnectionsWithoutDescriptors) {
  TestServer test;
  const Result<HostPort> at = ParseHostPort(test.server->address());
  ASSERT_TRUE(at.ok());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(at->port);
  ASSERT_EQ(inet_pton(AF_INET, at->host.c_str(), &address.sin_addr), 1);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(client, 0);
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  {
    const NoDescriptorsLeft none;
    ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    char byte = 0;
    const ssize_t received = recv(client, &byte, 1, 0);
    EXPECT_TRUE(received == 0 || (received < 0 && errno == ECONNRESET)) << received << ", errno " << errno;
  }
  close(client);
  EXPECT_THAT(test.Get("/metrics"), HasSubstr("espalier_admin_dropped_connections_total 1\n"));
}

}  // namespace
}  // namespace espalier::telemetry
