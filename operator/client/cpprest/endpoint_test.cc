#include "operator/client/cpprest/endpoint.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "operator/client/cpprest/cpprest_transport.h"

namespace espalier::ctl::client {
namespace {

TEST(EndpointTest, WritesNamesAndAddresses) {
  const Endpoint name = *ParseEndpoint({.host = "kubernetes.default.svc"});
  EXPECT_EQ(name.base_uri, "https://kubernetes.default.svc:443");
  EXPECT_EQ(name.address_family, AF_UNSPEC);
  EXPECT_FALSE(name.is_loopback);

  const Endpoint address = *ParseEndpoint({.host = "127.0.0.1", .port = 8001, .tls = false});
  EXPECT_EQ(address.base_uri, "http://127.0.0.1:8001");
  EXPECT_EQ(address.host_header, "");
  EXPECT_EQ(address.address_family, AF_INET);
  EXPECT_TRUE(address.is_loopback);
}

TEST(EndpointTest, WritesIPv6WithoutBracketsForTheResolverAndWithThemForTheServer) {
  const Endpoint direct = *ParseEndpoint({.host = "fd00::1", .port = 6443});
  EXPECT_EQ(direct.base_uri, "https://fd00::1:6443");
  EXPECT_EQ(direct.host_header, "[fd00::1]:6443");
  EXPECT_EQ(direct.address_family, AF_INET6);

  const Endpoint proxied = *ParseEndpoint({.host = "fd00::1", .port = 6443, .proxy_url = "http://[fd00::2]:3128"});
  EXPECT_EQ(proxied.base_uri, "https://[fd00::1]:6443");
  EXPECT_EQ(proxied.proxy_uri, "http://fd00::2:3128");
}

TEST(EndpointTest, RecognizesLoopbackAddresses) {
  for (const std::string host : {"localhost", "127.0.0.1", "127.9.8.7", "::1"}) {
    EXPECT_TRUE(ParseEndpoint({.host = host})->is_loopback) << host;
    EXPECT_FALSE(ParseEndpoint({.host = host, .proxy_url = "http://127.0.0.1:3128"})->is_loopback) << host;
  }
  for (const std::string host : {"127.evil.example", "127.1", "localhost.evil.example", "128.0.0.1", "::2"}) {
    EXPECT_FALSE(ParseEndpoint({.host = host})->is_loopback) << host;
  }
}

TEST(EndpointTest, SplitsProxyCredentials) {
  const Endpoint endpoint = *ParseEndpoint({.host = "api", .proxy_url = "http://us%40er:pa%3Ass@proxy"});
  EXPECT_EQ(endpoint.proxy_uri, "http://proxy:80");
  EXPECT_EQ(endpoint.proxy_user, "us@er");
  EXPECT_EQ(endpoint.proxy_password.Reveal(), "pa:ss");
}

TEST(EndpointTest, RefusesInvalidHosts) {
  for (const std::string host : {"", "a b", "a/b", "user@host", "[::1]", "host:80", "a\r\nb"}) {
    EXPECT_EQ(ParseEndpoint({.host = host}).status().code(), StatusCode::kInvalidArgument) << host;
  }
  EXPECT_EQ(ParseEndpoint({.host = "api", .port = 0}).status().code(), StatusCode::kInvalidArgument);
}

TEST(EndpointTest, RefusesUnsupportedProxiesWithoutQuotingThem) {
  for (const std::string url :
       {"socks5://u:secret@proxy:1080", "https://u:secret@proxy", "http://", "://secret", "secret"}) {
    const Status status = ParseEndpoint({.host = "api", .proxy_url = url}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(status.message(), testing::Not(testing::HasSubstr("secret")));
  }
}

TEST(InitializeCpprestTest, RepeatedCallNeedsSameNumber) {
  EXPECT_TRUE(InitializeCpprest(4).ok());
  EXPECT_EQ(InitializeCpprest(5).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(InitializeCpprest(0).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::ctl::client
