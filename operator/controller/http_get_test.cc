#include "operator/controller/http_get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/soon.h"
#include "services/telemetry/admin_server.h"

namespace espalier::ctl::controller {
namespace {

using ::testing::HasSubstr;

struct Server {
  Server() {
    auto started = telemetry::AdminServer::Start({}, metrics);
    EXPECT_TRUE(started.ok());
    admin = *std::move(started);
    options.address = "127.0.0.1";
    options.port = static_cast<uint16_t>(std::stoi(admin->address().substr(admin->address().rfind(':') + 1)));
    options.path = "/status";
  }
  telemetry::MetricRegistry metrics;
  std::unique_ptr<telemetry::AdminServer> admin;
  HttpGetOptions options;
};

TEST(HttpGetTest, ReturnsTheBody) {
  Server server;
  server.admin->SetStatusProvider([] { return std::string("{\"epoch\":3}"); });
  const Result<std::string> body = HttpGet(server.options, Soon());
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(*body, "{\"epoch\":3}\n");
}

TEST(HttpGetTest, RefusesAnAnswerThatIsTooLong) {
  Server server;
  server.admin->SetStatusProvider([] { return std::string(100'000, 'x'); });
  EXPECT_EQ(HttpGet(server.options, Soon()).status().code(), StatusCode::kResourceExhausted);
}

TEST(HttpGetTest, OtherCodesAreErrors) {
  Server server;
  server.options.path = "/nothing";
  EXPECT_EQ(HttpGet(server.options, Soon()).status().code(), StatusCode::kInvalidArgument);
}

TEST(HttpGetTest, NobodyListening) {
  Server server;
  server.admin.reset();
  EXPECT_EQ(HttpGet(server.options, Soon()).status().code(), StatusCode::kUnavailable);
}

TEST(HttpGetTest, NamesAreNotResolved) {
  EXPECT_EQ(HttpGet({.address = "localhost", .port = 1, .path = "/", .max_bytes = 1}, Soon()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(HttpGetTest, TheBodyIsWhatTheHeadSays) {
  EXPECT_EQ(*BodyOfAnswer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc"), "ab");
  EXPECT_EQ(*BodyOfAnswer("HTTP/1.0 200 OK\r\n\r\nabc"), "abc");
}

TEST(HttpGetTest, AnswersThatAreNoneAreErrors) {
  for (const char* const text :
       {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\nabc", "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.\r\n\r\n"}) {
    EXPECT_FALSE(BodyOfAnswer(text).ok()) << text;
  }
}

}  // namespace
}  // namespace espalier::ctl::controller
