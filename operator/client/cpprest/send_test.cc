// Tests single requests, with servers that violate the protocol. README.md lists the test of each defect of the
// library.
#include <gmock/gmock.h>

#include <thread>

#include "operator/client/cpprest/testing/connect.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::milliseconds;

// Returns a behavior that responds to the first request with `answer` and waits until the client closes the connection.
MisbehavingServer::Behavior Once(std::function<void(ServerConnection&)> answer) {
  return [answer = std::move(answer)](ServerConnection& connection) {
    if (!connection.Read()) return;
    answer(connection);
    connection.AwaitClose();
  };
}

// Returns the status of the first request to such a server.
Status AnswerOf(std::function<void(ServerConnection&)> answer, const CpprestOptions& options = {}) {
  MisbehavingServer server(Once(std::move(answer)));
  return Connect(PlainTo(server), options)->Send(Get(), InTime()).status();
}

TEST(SendTest, WritesRequestUnchanged) {
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  Connection connection = PlainTo(server);
  connection.base_path = "/k8s/clusters/c-1";
  connection.impersonate_user = "system:serviceaccount:a:b";
  connection.impersonate_uid = "7";
  connection.impersonate_groups = {"first", "second, which is one group"};
  connection.credentials = std::make_shared<CredentialsInTurn>(std::vector{Token("secret")});
  const kube::HttpRequest request{
      .method = "PATCH",
      .target = "/api/v1/pods/x%2Fy?labelSelector=a%3Db%2Cc&limit=5",
      .headers = {{"Content-Type", "application/apply-patch+yaml"}, {"Accept", "application/json"}},
      .body = "{\"a\":\"\xc3\xa4\"}"};
  ASSERT_TRUE(Connect(connection, {.user_agent = "operator/7"})->Send(request, InTime()).ok());

  const ReceivedRequest seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.target, "/k8s/clusters/c-1/api/v1/pods/x%2Fy?labelSelector=a%3Db%2Cc&limit=5");
  EXPECT_EQ(seen.body, request.body);
  EXPECT_EQ(seen.headers.at("content-type"), "application/apply-patch+yaml");
  EXPECT_EQ(seen.headers.at("accept"), "application/json");
  EXPECT_EQ(seen.headers.at("user-agent"), "operator/7");
  EXPECT_EQ(seen.headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(seen.headers.at("impersonate-user"), "system:serviceaccount:a:b");
  EXPECT_EQ(seen.headers.at("impersonate-uid"), "7");
  EXPECT_EQ(seen.headers.at("impersonate-group"), "first\nsecond, which is one group");
  EXPECT_EQ(seen.headers.at("host"), "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(seen.headers.count("accept-encoding"), 0u);
}

TEST(SendTest, ReturnsEveryStatusCode) {
  MisbehavingServer server(Once([](ServerConnection& connection) {
    connection.Answer(429, "{\"kind\":\"Status\"}\n", "Retry-After: 3\r\nX-Two: a\r\n");
  }));
  const Result<HttpResponse> answer = Connect(PlainTo(server))->Send(Get(), InTime());
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->code, 429);
  EXPECT_EQ(answer->body, "{\"kind\":\"Status\"}\n");
  EXPECT_THAT(answer->headers, testing::Contains(testing::Pair("Retry-After", "3")));
}

TEST(SendTest, ReadsChunkedAndEmptyAndUnboundedBodies) {
  MisbehavingServer server([](ServerConnection& connection) {
    connection.Read();
    connection.StartChunks();
    connection.Chunk("one ");
    connection.Chunk("two");
    connection.EndChunks();
    connection.Read();
    connection.Answer(204, "");
    connection.Read();
    connection.Write("HTTP/1.1 200 OK\r\n\r\nuntil the close");
  });
  const auto transport = Connect(PlainTo(server));
  EXPECT_EQ(transport->Send(Get(), InTime())->body, "one two");
  EXPECT_EQ(transport->Send(Get(), InTime())->code, 204);
  EXPECT_EQ(transport->Send(Get(), InTime())->body, "until the close");
}

TEST(SendTest, DoesNotFollowRedirects) {
  MisbehavingServer elsewhere([](ServerConnection& connection) { connection.AnswerAll(); });
  MisbehavingServer server(Once([&](ServerConnection& connection) {
    connection.Answer(302, "", "Location: http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/\r\n");
  }));
  Connection connection = PlainTo(server);
  connection.credentials = std::make_shared<CredentialsInTurn>(std::vector{Token("secret")});
  EXPECT_EQ(Connect(connection)->Send(Get(), InTime())->code, 302);
  EXPECT_EQ(elsewhere.num_connections(), 0);
}

TEST(SendTest, TheDeadlineBoundsASilentServer) {
  MisbehavingServer server(Once([](ServerConnection&) {}));
  const auto transport = Connect(PlainTo(server));
  EXPECT_EQ(transport->Send(Get(), Deadline::After(milliseconds(50))).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(server.AwaitNoConnections());  // the connection is closed
}

TEST(SendTest, TheDeadlineBoundsADrippingServer) {
  for (const std::string head : {"", "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"}) {
    MisbehavingServer server(Once([&](ServerConnection& connection) {
      connection.Write(head.empty() ? "HTTP/1.1 200 OK\r\nX: " : head);
      while (connection.Write("x")) std::this_thread::yield();
    }));
    EXPECT_EQ(Connect(PlainTo(server))->Send(Get(), Deadline::After(milliseconds(100))).status().code(),
              StatusCode::kDeadlineExceeded);
  }
}

TEST(SendTest, APassedDeadlineSendsNothing) {
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  EXPECT_EQ(Connect(PlainTo(server))->Send(Get(), Deadline::At({})).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(server.num_connections(), 0);
}

TEST(SendTest, StopEndsRequest) {
  for (const bool has_head : {false, true}) {
    MisbehavingServer server(Once([&](ServerConnection& connection) {
      if (has_head) connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    }));
    std::stop_source stop;
    std::jthread stopper([&] {
      server.AwaitRequests(1);
      stop.request_stop();
    });
    const auto transport = Connect(PlainTo(server));
    EXPECT_EQ(transport->Send(Get(), InTime(), stop.get_token()).status().code(), StatusCode::kCancelled);
    EXPECT_EQ(transport->Send(Get(), InTime(), stop.get_token()).status().code(), StatusCode::kCancelled);
  }
}

TEST(SendTest, LimitsResponsesWithAndWithoutLength) {
  const CpprestOptions options{.max_response_bytes = 1 << 20};
  EXPECT_EQ(
      AnswerOf([](ServerConnection& connection) { connection.Answer(200, std::string((1 << 20) + 1, 'x')); }, options)
          .code(),
      StatusCode::kResourceExhausted);
  for (const char byte : {'x', '\n'}) {
    const auto endless = [&](ServerConnection& connection) {
      connection.StartChunks();
      const std::string chunk(4096, byte);
      while (connection.Chunk(chunk)) {
      }
    };
    EXPECT_EQ(AnswerOf(endless, options).code(), StatusCode::kResourceExhausted);
  }
}

TEST(SendTest, ResponseOfMaximumSizeFits) {
  MisbehavingServer server(
      Once([](ServerConnection& connection) { connection.Answer(200, std::string(1 << 20, 'x')); }));
  const auto transport = Connect(PlainTo(server), {.max_response_bytes = 1 << 20});
  EXPECT_EQ(transport->Send(Get(), InTime())->body.size(), 1u << 20);
}

TEST(SendTest, BrokenResponseIsUnavailable) {
  const std::vector<std::string> broken = {
      "",
      "HTTP/1.1 20",
      "SSH-2.0-OpenSSH\r\n\r\n",
      "HTTP/1.1 two hundred\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\n",
      "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
  };
  for (const std::string& bytes : broken) {
    MisbehavingServer server([&](ServerConnection& connection) {
      connection.Read();
      connection.Write(bytes);
    });
    const Status status = Connect(PlainTo(server))->Send(Post("{}"), InTime()).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << bytes << ": " << status.ToString();
  }
}

TEST(SendTest, RefusesNegativeChunkSize) {
  for (const std::string size : {"-1", "-2"}) {
    const Status status = AnswerOf([&](ServerConnection& connection) {
      connection.StartChunks();
      connection.Write(size + "\r\nxx\r\n");
    });
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
  }
}

TEST(SendTest, InterimResponseIsUnavailable) {
  MisbehavingServer server([](ServerConnection& connection) {
    if (connection.number() == 1) {
      connection.Read();
      connection.Write("HTTP/1.1 103 Early Hints\r\n\r\n");
      connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale");
      connection.AwaitClose();
    } else {
      connection.AnswerAll();
    }
  });
  const auto transport = Connect(PlainTo(server));
  EXPECT_EQ(transport->Send(Get(), InTime()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(transport->Send(Get(), InTime())->body, "ok");
}

TEST(SendTest, RefusesHeaderInjection) {
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  const auto send = [&](kube::HttpRequest request, const std::string& token, const std::string& user) {
    Connection connection = PlainTo(server);
    connection.credentials = std::make_shared<CredentialsInTurn>(std::vector{Token(token)});
    connection.impersonate_user = user;
    connection.impersonate_groups = {user.empty() ? "g" : user};
    return Connect(connection)->Send(request, InTime()).status();
  };
  const Status token = send(Get(), "secret\r\nX-Evil: 1", "");
  EXPECT_EQ(token.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(token.message(), testing::Not(testing::HasSubstr("secret")));
  EXPECT_EQ(send(Get(), "secret\n", "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(send(Get(), "", "a\nb").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(send(Get("/a b"), "", "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(send(Get("/a\r\nX: 1"), "", "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(send(Get("//evil.example/"), "", "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(send(Get("relative"), "", "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(send({.method = "GET", .target = "/", .headers = {{"A", "b\r\nC: d"}}}, "", "").code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(send({.method = "GET", .target = "/", .headers = {{"A:b", "c"}}}, "", "").code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(server.num_connections(), 0);
}

TEST(SendTest, SendsNoTokenInPlaintextToOtherHosts) {
  Connection connection{.host = "192.0.2.1", .port = 80, .tls = false};
  connection.credentials = std::make_shared<CredentialsInTurn>(std::vector{Token("secret")});
  EXPECT_EQ(Connect(connection)->Send(Get(), InTime()).status().code(), StatusCode::kInvalidArgument);
}

TEST(SendTest, SendsNoTokenInPlaintextThroughProxy) {
  MisbehavingServer proxy([](ServerConnection& connection) { connection.AnswerAll(); });
  Connection connection{.host = "127.0.0.1", .port = 8001, .tls = false};
  connection.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
  connection.credentials = std::make_shared<CredentialsInTurn>(std::vector{Token("secret")});
  EXPECT_EQ(Connect(connection)->Send(Get(), InTime()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(proxy.num_connections(), 0);
}

// A source whose Get returns after `wait`.
class SlowCredentials final : public CredentialsSource {
 public:
  explicit SlowCredentials(std::function<void()> wait) : wait_(std::move(wait)) {}
  Result<Credentials> Get(Deadline) override {
    wait_();
    return Token("late");
  }
  void Reject() override {}

 private:
  const std::function<void()> wait_;
};

TEST(SendTest, SendsNothingIfCredentialsArriveLate) {
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  Connection connection = PlainTo(server);
  for (int i = 0; i < 20; ++i) {
    const Deadline soon = Deadline::After(milliseconds(1));
    connection.credentials = std::make_shared<SlowCredentials>([&] {
      while (!soon.HasPassed()) std::this_thread::yield();
    });
    EXPECT_EQ(Connect(connection)->Send(Post("{}"), soon).status().code(), StatusCode::kDeadlineExceeded);

    std::stop_source stop;
    connection.credentials = std::make_shared<SlowCredentials>([&] { stop.request_stop(); });
    EXPECT_EQ(Connect(connection)->Send(Post("{}"), InTime(), stop.get_token()).status().code(),
              StatusCode::kCancelled);
  }
  // A successful request proves that no earlier one was sent: it would have arrived first.
  connection.credentials = nullptr;
  ASSERT_TRUE(Connect(connection)->Send(Get(), InTime()).ok());
  EXPECT_EQ(server.num_connections(), 1);
}

TEST(SendTest, RefreshesRejectedCredentialsOnce) {
  MisbehavingServer server([](ServerConnection& connection) {
    while (const auto request = connection.Read()) {
      connection.Answer(request->headers.at("authorization") == "Bearer new" ? 200 : 401, "said");
    }
  });
  Connection connection = PlainTo(server);
  const auto rotated = std::make_shared<CredentialsInTurn>(std::vector{Token("old"), Token("new")});
  connection.credentials = rotated;
  const auto transport = Connect(connection);
  EXPECT_EQ(transport->Send(Post("{}"), InTime())->code, 200);
  EXPECT_EQ(transport->Send(Post("{}"), InTime())->code, 200);
  EXPECT_EQ(rotated->num_rejected(), 1u);

  const auto stale = std::make_shared<CredentialsInTurn>(std::vector{Token("old")});
  connection.credentials = stale;
  EXPECT_EQ(Connect(connection)->Send(Get(), InTime())->code, 401);
  EXPECT_EQ(stale->num_rejected(), 1u);
  EXPECT_EQ(server.requests().size(), 5u);
}

TEST(SendTest, ReportsMissingCredentials) {
  class Broken final : public CredentialsSource {
    Result<Credentials> Get(Deadline) override { return NotFound("no token file"); }
    void Reject() override {}
  };
  MisbehavingServer server([](ServerConnection& connection) { connection.AnswerAll(); });
  Connection connection = PlainTo(server);
  connection.credentials = std::make_shared<Broken>();
  const Status status = Connect(connection)->Send(Get(), InTime()).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), testing::HasSubstr("no token file"));
}

}  // namespace
}  // namespace espalier::ctl::client
