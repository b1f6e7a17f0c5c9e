#include "services/runner/launch/hosts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const auto hosts = ParseHosts("hosts.txt", text);
  return hosts.ok() ? "" : hosts.status().message();
}

TEST(HostsFileTest, ReadsAddressesNamesAndPorts) {
  const auto hosts = ParseHosts("hosts.txt",
                                "# two racks\n"
                                "10.0.0.1 31000\n"
                                "\n"
                                "  10.0.0.2\t# no port\r\n"
                                "node-3.lab 0\n"
                                "fd00::4 30060\n"
                                "[fd00::5]");
  ASSERT_TRUE(hosts.ok()) << hosts.status().ToString();
  EXPECT_THAT(*hosts, ElementsAre(Host{"10.0.0.1", 31000}, Host{"10.0.0.2", 30050}, Host{"node-3.lab", 0},
                                  Host{"fd00::4", 30060}, Host{"fd00::5", 30050}));
}

TEST(HostsFileTest, SkipsAByteOrderMark) {
  const auto hosts = ParseHosts("hosts.txt",
                                "\xEF\xBB\xBF"
                                "10.0.0.1\r\n10.0.0.2 0\r\n\r\n");
  ASSERT_TRUE(hosts.ok()) << hosts.status().ToString();
  EXPECT_THAT(*hosts, ElementsAre(Host{"10.0.0.1", 30050}, Host{"10.0.0.2", 0}));
  EXPECT_THAT(ErrorOf(std::string("\xFF\xFE"
                                  "1\0",
                                  4)),
              HasSubstr("hosts.txt is text in UTF-16: expected UTF-8"));
}

TEST(HostsFileTest, ErrorsNameLine) {
  EXPECT_THAT(ErrorOf("10.0.0.1 99999\n10.0.0.2 30050 8\nok\nok\n"),
              AllOf(HasSubstr("hosts.txt:1: port '99999': expected 0 to 65535"),
                    HasSubstr("hosts.txt:2: unexpected '8'"), HasSubstr("hosts.txt:4: ok occurs twice")));
  EXPECT_THAT(ErrorOf("# nobody\n"), HasSubstr("lists no hosts"));
  EXPECT_THAT(ErrorOf("10.0.0.1 -1\n"), HasSubstr("port '-1'"));
}

// ssh would interpret a leading '-' as an option, and a shell would interpret ';' as a separator of commands.
TEST(HostsFileTest, RefusesInvalidNames) {
  EXPECT_THAT(ErrorOf("-oProxyCommand=x\n"), HasSubstr("neither an address nor a host name"));
  EXPECT_THAT(ErrorOf("a;reboot\n"), HasSubstr("neither an address nor a host name"));
  EXPECT_THAT(ErrorOf("user@host\n"), HasSubstr("neither an address nor a host name"));
}

TEST(HostsFileTest, ResolvesNamesLocally) {
  EXPECT_EQ(*ResolveAddress("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(*ResolveAddress("fd00::4"), "fd00::4");
  EXPECT_EQ(ResolveAddress("no-such-host.invalid").status().code(), StatusCode::kNotFound);
}

TEST(HostsFileTest, NamesMissingFile) {
  EXPECT_THAT(ReadHostsFile("/nonexistent/hosts.txt").status().message(), HasSubstr("/nonexistent/hosts.txt"));
}

}  // namespace
}  // namespace espalier::launch
