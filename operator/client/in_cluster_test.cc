#include "operator/client/in_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::client {
namespace {

using ::testing::HasSubstr;

class InClusterTest : public ::testing::Test {
 protected:
  InClusterTest() {
    std::filesystem::copy(std::string(ESPALIER_SOURCE_DIR) + "/operator/client/testdata/ca.crt", folder_.path());
    Write("token", "t0ken");
    Write("namespace", "espalier-system\n");
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  Result<Connection> Connect() const { return LoadInClusterConnection(environment_, folder_.path()); }

  storage::TemporaryFolder folder_;
  std::map<std::string, std::string> environment_ = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                     {"KUBERNETES_SERVICE_PORT", "443"}};
};

TEST_F(InClusterTest, ConnectsAsThePodsServiceAccount) {
  const Result<Connection> connection = Connect();
  ASSERT_TRUE(connection.ok()) << connection.status().ToString();
  EXPECT_EQ(connection->host, "10.96.0.1");
  EXPECT_EQ(connection->port, 443);
  EXPECT_TRUE(connection->tls);
  EXPECT_FALSE(connection->skip_verification);
  EXPECT_EQ(connection->ca_file, folder_.path() + "/ca.crt");
  EXPECT_EQ(connection->name_space, "espalier-system");
  const Result<Credentials> credentials = connection->credentials->Get(Deadline::After(std::chrono::seconds(10)));
  ASSERT_TRUE(credentials.ok());
  EXPECT_EQ(credentials->bearer_token.Reveal(), "t0ken");
}

TEST_F(InClusterTest, AcceptsIpV6AddressesWithAndWithoutBrackets) {
  for (const char* host : {"fd00::1", "[fd00::1]"}) {
    environment_["KUBERNETES_SERVICE_HOST"] = host;
    const Result<Connection> connection = Connect();
    ASSERT_TRUE(connection.ok());
    EXPECT_EQ(connection->host, "fd00::1");
  }
}

TEST_F(InClusterTest, NotInClusterWithoutAddressOrToken) {
  const auto whole = environment_;
  for (const char* name : {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
    environment_ = whole;
    environment_.erase(name);
    EXPECT_EQ(Connect().status(), NotFound(std::string("not in a pod: ") + name + " is not set"));
  }
  environment_ = whole;
  std::filesystem::remove(folder_.path() + "/token");
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotFound);
}

TEST_F(InClusterTest, RefusesBadPortAndInvalidAuthorities) {
  Write("ca.crt", "no certificate");
  EXPECT_EQ(Connect().status(), InvalidArgument(folder_.path() + "/ca.crt: no PEM certificate"));
  environment_["KUBERNETES_SERVICE_PORT"] = "tcp://10.96.0.1:443";  // set for a Service named "kubernetes-service"
  EXPECT_THAT(Connect().status().message(), HasSubstr("KUBERNETES_SERVICE_PORT"));
}

TEST_F(InClusterTest, NamespaceIsOptional) {
  std::filesystem::remove(folder_.path() + "/namespace");
  ASSERT_TRUE(Connect().ok());
  EXPECT_EQ(Connect()->name_space, "");
}

}  // namespace
}  // namespace espalier::ctl::client
