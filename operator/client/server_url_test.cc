#include "operator/client/server_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ServerUrl Parsed(std::string_view text) {
  const Result<ServerUrl> url = ParseServerUrl(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status().ToString();
  return url.ok() ? *url : ServerUrl();
}

TEST(ServerUrlTest, ParsesParts) {
  EXPECT_EQ(Parsed("https://api.test"), (ServerUrl{true, "api.test", 443, ""}));
  EXPECT_EQ(Parsed("http://10.0.0.1/"), (ServerUrl{false, "10.0.0.1", 80, ""}));
  EXPECT_EQ(Parsed("https://api.test:6443/k8s/c-1/"), (ServerUrl{true, "api.test", 6443, "/k8s/c-1"}));
  EXPECT_EQ(Parsed("https://[fd00::1]:6443"), (ServerUrl{true, "fd00::1", 6443, ""}));
  EXPECT_EQ(Parsed("https://[::1]/p"), (ServerUrl{true, "::1", 443, "/p"}));
}

TEST(ServerUrlTest, RefusesOtherUrlsWithoutQuotingThem) {
  for (const char* text : {"",
                           "hunter2",
                           "api.test:6443",
                           "ftp://hunter2",
                           "https://",
                           "https:///hunter2",
                           "https://hunter2:x",
                           "https://a:0",
                           "https://a:65536",
                           "https://a:",
                           "https://a:-1",
                           "https://a:+1",
                           "https://a:6443:1",
                           "https://user:hunter2@a",
                           "https://a/?hunter2",
                           "https://a#hunter2",
                           "https://hunter2 b",
                           "https://a/\r\nhunter2: x",
                           "https://[::1",
                           "https://[hunter2]",
                           "https://[::1]x",
                           "https://::1",
                           "https://[fe80::1%eth0]",
                           "https://\xc3\xa4.test"}) {
    const Status status = ParseServerUrl(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), Not(HasSubstr("hunter2"))) << text;
  }
}

}  // namespace
}  // namespace espalier::ctl::client
