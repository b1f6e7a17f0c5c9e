// Tests the transport with a peer that sends given bytes, valid or not.
#include "services/http/curl_transport.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "services/base/check.h"
#include "services/http/url.h"

namespace espalier::http {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Ending { kKeepOpen, kClose, kReset };

// Responds to every request on a loopback address with the same bytes, then keeps, closes or resets the connection.
class Peer {
 public:
  Peer(std::string answer, Ending ending, int family = AF_INET) : answer_(std::move(answer)), ending_(ending) {
    listener_ = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener_ < 0) return;
    sockaddr_in6 six{.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr* const address =
        family == AF_INET ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    socklen_t length = family == AF_INET ? sizeof(four) : sizeof(six);
    if (bind(listener_, address, length) != 0 || listen(listener_, 16) != 0) return;
    ESPALIER_CHECK(getsockname(listener_, address, &length) == 0);
    const int port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
    origin_ = (family == AF_INET ? "http://127.0.0.1:" : "http://[::1]:") + std::to_string(port);
    thread_ = std::jthread([this](std::stop_token stop) { Serve(stop); });
  }
  ~Peer() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    if (listener_ >= 0) close(listener_);
  }
  // Returns the URL of the peer, or "" if this machine has no loopback address of the family.
  const std::string& origin() const { return origin_; }
  int num_connections() const { return num_connections_.load(); }

 private:
  static bool IsReadable(int socket) {
    pollfd waiting{.fd = socket, .events = POLLIN};
    return poll(&waiting, 1, 20) == 1;
  }
  void Serve(std::stop_token stop) {
    while (!stop.stop_requested()) {
      if (!IsReadable(listener_)) continue;
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      ++num_connections_;
      while (!stop.stop_requested() && AnswerOne(connection, stop)) {
      }
      if (ending_ == Ending::kReset) {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      }
      close(connection);
    }
  }
  // Reads the head of a request, or the beginning of a TLS handshake, and responds. Returns whether to keep the
  // connection.
  bool AnswerOne(int connection, const std::stop_token& stop) const {
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos && !request.starts_with('\x16')) {
      if (stop.stop_requested()) return false;
      if (!IsReadable(connection)) continue;
      char bytes[4096];
      const ssize_t got = recv(connection, bytes, sizeof(bytes), 0);
      if (got <= 0) return false;
      request.append(bytes, static_cast<size_t>(got));
    }
    (void)!send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    return ending_ == Ending::kKeepOpen;
  }

  const std::string answer_;
  const Ending ending_;
  int listener_ = -1;
  std::string origin_;
  std::atomic<int> num_connections_{0};  // atomic, because the test reads what the thread counts
  std::jthread thread_;
};

SendOptions Within(seconds time) { return {.deadline = Deadline::After(time)}; }
Request GetFrom(const Peer& peer) {
  return {.method = "GET", .url = peer.origin() + "/x?a=b", .proxy = ProxyUse::kNone};
}
Status Failure(const Peer& peer, SendOptions options = Within(seconds(30))) {
  CurlTransport transport;
  return transport.Send(GetFrom(peer), options).status();
}

TEST(CurlTransportTest, ReusesConnection) {
  const Peer peer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Two:  b \r\n\r\nhi", Ending::kKeepOpen);
  CurlTransport transport;
  for (int i = 0; i < 5; ++i) {
    const Result<Response> response = transport.Send(GetFrom(peer), Within(seconds(30)));
    ASSERT_TRUE(response.ok()) << response.status().ToString();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "hi");
    ASSERT_NE(response->Header("x-two"), nullptr);
    EXPECT_EQ(*response->Header("x-two"), "b");
  }
  EXPECT_EQ(peer.num_connections(), 1);
}

TEST(CurlTransportTest, ReconnectsAfterClose) {
  const Peer peer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", Ending::kClose);
  CurlTransport transport;
  const std::string body = "some bytes";
  Request put = GetFrom(peer);
  put.method = "PUT";
  put.body = std::as_bytes(std::span(body));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(transport.Send(put, Within(seconds(30))).ok());
}

TEST(CurlTransportTest, SupportsIPv6) {
  const Peer peer("HTTP/1.1 204 No Content\r\n\r\n", Ending::kKeepOpen, AF_INET6);
  if (peer.origin().empty()) GTEST_SKIP() << "this machine has no IPv6";
  CurlTransport transport;
  EXPECT_EQ(transport.Send(GetFrom(peer), Within(seconds(30)))->status, 204);
}

TEST(CurlTransportTest, WritesBodyOfSuccessToBuffer) {
  const Peer good("HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\n\r\n3456", Ending::kKeepOpen);
  const Peer bad("HTTP/1.1 503 Slow\r\nContent-Length: 4\r\n\r\nslow", Ending::kKeepOpen);
  std::string out = "......";
  CurlTransport transport;
  SendOptions options = Within(seconds(30));
  options.into = std::as_writable_bytes(std::span(out));
  EXPECT_EQ(transport.Send(GetFrom(good), options)->bytes_into, 4u);
  EXPECT_EQ(out, "3456..");
  EXPECT_EQ(transport.Send(GetFrom(bad), options)->body, "slow");
  EXPECT_EQ(out, "3456..");
}

TEST(CurlTransportTest, ReportsTruncatedResponse) {
  const Peer peer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", Ending::kClose);
  EXPECT_EQ(Failure(peer).code(), StatusCode::kUnavailable);
}

TEST(CurlTransportTest, ReportsReset) {
  const Peer in_the_body("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", Ending::kReset);
  const Peer before_the_head("", Ending::kReset);
  EXPECT_EQ(Failure(in_the_body).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Failure(before_the_head).code(), StatusCode::kUnavailable);
}

TEST(CurlTransportTest, EndsAtItsDeadline) {
  const Peer peer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", Ending::kKeepOpen);
  SendOptions options{.deadline = Deadline::After(std::chrono::milliseconds(100))};
  const Status status = Failure(peer, options);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr(peer.origin()));
}

TEST(CurlTransportTest, EndsStalledTransfer) {
  const Peer peer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", Ending::kKeepOpen);
  SendOptions options = Within(seconds(600));
  options.stall_timeout = seconds(1);
  EXPECT_EQ(Failure(peer, options).code(), StatusCode::kDeadlineExceeded);
}

TEST(CurlTransportTest, LimitsResponseSize) {
  const Peer body("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'), Ending::kKeepOpen);
  const Peer head("HTTP/1.1 200 OK\r\nX: " + std::string(80000, 'x') + "\r\n\r\n", Ending::kClose);
  SendOptions options = Within(seconds(30));
  options.max_body_bytes = 99;
  EXPECT_EQ(Failure(body, options).code(), StatusCode::kInternal);
  EXPECT_EQ(Failure(head).code(), StatusCode::kInternal);
  std::string out(99, '.');
  options = Within(seconds(30));
  options.into = std::as_writable_bytes(std::span(out));
  EXPECT_EQ(Failure(body, options).code(), StatusCode::kUnimplemented) << "a service without ranges";
}

TEST(CurlTransportTest, RefusesOtherProtocols) {
  const Peer peer("\x00\x01nonsense\r\n\r\n", Ending::kClose);
  EXPECT_EQ(Failure(peer).code(), StatusCode::kUnavailable);
}

TEST(CurlTransportTest, RecognizesPortWithoutTls) {
  const Peer peer("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", Ending::kClose);
  CurlTransport transport;
  Request request = GetFrom(peer);
  request.url.insert(4, "s");
  const Status status = transport.Send(request, Within(seconds(30))).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("use http:// in the endpoint"));
}

// An OpenSSL server responds to a plain request with the alert "unexpected message".
TEST(CurlTransportTest, RecognizesPortWithTls) {
  const Peer peer(std::string("\x15\x03\x01\x00\x02\x02\x0a", 7), Ending::kClose);
  const Status status = Failure(peer);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("may expect https://"));
}

TEST(CurlTransportTest, ReportsRefusedConnection) {
  CurlTransport transport;
  std::string origin;
  {
    const Peer gone("", Ending::kClose);
    origin = gone.origin();
  }
  const Request request{.method = "GET", .url = origin + "/", .proxy = ProxyUse::kNone};
  EXPECT_EQ(transport.Send(request, Within(seconds(30))).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(transport.Send({.method = "GET", .url = "file:///etc/passwd"}, Within(seconds(30))).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(CurlTransportTest, ReportsUnresolvableNameEachTime) {
  CurlTransport transport;
  const std::string host(64, 'x');  // longer than a DNS label may be, so no query is sent
  const Request request{.method = "GET", .url = "http://" + host + "/", .proxy = ProxyUse::kNone};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Status status = transport.Send(request, Within(seconds(30))).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), testing::HasSubstr(host));
  }
}

TEST(UrlTest, ParsesParts) {
  const Result<Url> url = ParseUrl("https://s3.test:9000/a%20b?c=d");
  ASSERT_TRUE(url.ok());
  EXPECT_THAT((std::vector<std::string>{url->scheme, url->host, url->authority, url->path}),
              ElementsAre("https", "s3.test", "s3.test:9000", "/a%20b?c=d"));
  EXPECT_EQ(ParseUrl("https://s3.test:443")->authority, "s3.test");
  EXPECT_EQ(ParseUrl("http://[::1]:80/")->authority, "[::1]");
  EXPECT_EQ(ParseUrl("http://[fd00::1]:81")->host, "[fd00::1]");
}

TEST(UrlTest, ErrorsDoNotContainTheQuery) {
  for (const char* url :
       {"https://s3.test?token=secret", "https://s3.test#secret", "https://s3.test:9000?token=secret"}) {
    const Status refused = ParseUrl(url).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(refused.message(), ::testing::Not(HasSubstr("secret"))) << url;
  }
}

}  // namespace
}  // namespace espalier::http
