#include "services/http/get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "services/base/testing/soon.h"
#include "services/telemetry/admin_server.h"

namespace espalier::http {
namespace {

struct Server {
  Server() {
    auto started = telemetry::AdminServer::Start({}, metrics);
    EXPECT_TRUE(started.ok());
    admin = *std::move(started);
    url = "http://" + admin->address() + "/status";
  }
  telemetry::MetricRegistry metrics;
  std::unique_ptr<telemetry::AdminServer> admin;
  std::string url;
};

TEST(GetTest, ReturnsTheBody) {
  Server server;
  server.admin->SetStatusProvider([] { return std::string("{\"epoch\":3}"); });
  const Result<std::string> body = Get(server.url, 100, Soon());
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(*body, "{\"epoch\":3}\n");
}

TEST(GetTest, RefusesTooLongResponse) {
  Server server;
  server.admin->SetStatusProvider([] { return std::string(100'000, 'x'); });
  EXPECT_EQ(Get(server.url, 99'000, Soon()).status().code(), StatusCode::kInternal);
}

TEST(GetTest, OtherCodesAreErrors) {
  Server server;
  const Status status = Get(server.url + "/nothing", 100, Soon()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), testing::HasSubstr("responded with status 404"));
}

TEST(GetTest, ReportsRefusedConnection) {
  Server server;
  server.admin.reset();
  EXPECT_EQ(Get(server.url, 100, Soon()).status().code(), StatusCode::kUnavailable);
}

TEST(GetTest, RefusesInvalidUrls) {
  EXPECT_EQ(Get("127.0.0.1:1/status", 100, Soon()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::http
