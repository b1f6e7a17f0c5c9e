// Runs the API server suite against the real kube-apiserver, through the real transport. It starts once for all tests;
// ForgetHistory restarts it.
#include "operator/client/testing/real_api_server.h"

#include <fstream>

#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/client/kube_config.h"
#include "operator/client/testing/api_server_suite.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using ::testing::HasSubstr;

// disttrainings.espalier.io with any spec and status: the suite tests the server, not our schema.
constexpr char kAnyDistTraining[] = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "disttrainings.espalier.io"},
  "spec": {
    "group": "espalier.io", "scope": "Namespaced",
    "names": {"plural": "disttrainings", "singular": "disttraining", "kind": "DistTraining"},
    "versions": [{
      "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
          "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type"], "x-kubernetes-preserve-unknown-fields": true,
                      "properties": {"type": {"type": "string"}}}}}}}}}}]}})";

Result<std::unique_ptr<HttpTransport>> Connect(const Connection& connection) {
  static const Status initialized = InitializeCpprest();
  RETURN_IF_ERROR(initialized);
  return MakeCpprestTransport(connection, {});
}

class Real final : public ApiServerUnderTest {
 public:
  static Result<std::shared_ptr<Real>> Start() {
    auto real = std::make_shared<Real>();
    ASSIGN_OR_RETURN(real->server_,
                     RealApiServer::Start({.controllers = {"garbage-collector-controller"}, .audit = true}));
    ASSIGN_OR_RETURN(real->transport_, Connect(real->server_->AdminConnection()));
    RETURN_IF_ERROR(real->DefineDistTraining());
    return real;
  }

  HttpTransport& transport() override { return *transport_; }
  void ForgetHistory() override {
    const Status compacted = server_->Compact();
    ASSERT_TRUE(compacted.ok()) << compacted.ToString();
    const Status restarted = server_->Restart();
    ASSERT_TRUE(restarted.ok()) << restarted.ToString();
  }
  RealApiServer& server() { return *server_; }

 private:
  Status DefineDistTraining() {
    ASSIGN_OR_RETURN(const Json definition, kube::ParseJson(kAnyDistTraining));
    const Deadline deadline = Deadline::After(std::chrono::seconds(60));
    ASSIGN_OR_RETURN(
        const HttpResponse created,
        transport_->Send(kube::CreateRequest(kube::kCustomResourceDefinitions, definition, "suite"), deadline));
    if (created.code != 201) return Internal("the definition is refused: " + created.body);
    while (!deadline.HasPassed()) {
      ASSIGN_OR_RETURN(const HttpResponse list,
                       transport_->Send(kube::ListRequest(kube::kDistTrainings, {}), deadline));
      if (list.code == 200) return {};
      Clock::Real().SleepFor(std::chrono::milliseconds(50));  // polls another process
    }
    return DeadlineExceeded("the definition is not served");
  }

  std::unique_ptr<RealApiServer> server_;
  std::unique_ptr<HttpTransport> transport_;
};

// Exists until all tests have run. etcd and the other processes end with it.
std::shared_ptr<Real>& Shared() {
  static std::shared_ptr<Real> real;
  return real;
}

std::shared_ptr<Real> SharedServer() {
  static const Status started = [] {
    Result<std::shared_ptr<Real>> real = Real::Start();
    if (real.ok()) Shared() = *std::move(real);
    return real.status();
  }();
  EXPECT_TRUE(started.ok()) << started.ToString();
  return Shared();
}

INSTANTIATE_TEST_SUITE_P(Real, ApiServerSuite, ::testing::Values(ApiServerCase{"Real", [] { return SharedServer(); }}),
                         [](const auto& param) { return param.param.name; });

class EndServer final : public ::testing::Environment {
 public:
  void TearDown() override { Shared().reset(); }
};
const ::testing::Environment* const kEndServer = ::testing::AddGlobalTestEnvironment(new EndServer);

TEST(RealApiServerTest, DeniesOtherUsers) {
  const std::shared_ptr<Real> real = SharedServer();
  ASSERT_NE(real, nullptr);
  const Result<std::unique_ptr<HttpTransport>> transport =
      Connect(real->server().ConnectionOf("system:serviceaccount:default:somebody", {"system:serviceaccounts"}));
  ASSERT_TRUE(transport.ok());
  const Result<HttpResponse> answer =
      (*transport)->Send(kube::ListRequest(kube::kSecrets, {}), Deadline::After(std::chrono::seconds(30)));
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->code, 403);
  EXPECT_THAT(answer->body, HasSubstr("system:serviceaccount:default:somebody"));
}

TEST(RealApiServerTest, WritesKubeconfigsThatConnect) {
  const std::shared_ptr<Real> real = SharedServer();
  ASSERT_NE(real, nullptr);
  const std::string path = real->server().folder() + "/test.kubeconfig";
  std::ofstream(path) << real->server().KubeConfigOf("admin", {"system:masters"});
  const Result<Connection> connection = LoadKubeConfig({.paths = {path}});
  ASSERT_TRUE(connection.ok()) << connection.status().ToString();
  const Result<std::unique_ptr<HttpTransport>> transport = Connect(*connection);
  ASSERT_TRUE(transport.ok());
  const Result<HttpResponse> answer =
      (*transport)->Send(kube::ListRequest(kube::kSecrets, {}), Deadline::After(std::chrono::seconds(30)));
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->code, 200);
}

TEST(RealApiServerTest, WritesAnAuditLogThatNamesTheUser) {
  const std::shared_ptr<Real> real = SharedServer();
  ASSERT_NE(real, nullptr);
  const Result<HttpResponse> answer = real->transport().Send(
      kube::GetRequest(kube::kConfigMaps, {"default", "audited"}), Deadline::After(std::chrono::seconds(30)));
  ASSERT_TRUE(answer.ok());
  const Deadline deadline = Deadline::After(std::chrono::seconds(30));
  bool found = false;
  while (!found && !deadline.HasPassed()) {  // the log is written in batches
    std::ifstream log(real->server().audit_log());
    for (std::string line; !found && std::getline(log, line);) {
      found = line.find("configmaps/audited") != std::string::npos &&
              line.find("\"username\":\"admin\"") != std::string::npos;
    }
    if (!found) Clock::Real().SleepFor(std::chrono::milliseconds(50));  // polls another process
  }
  EXPECT_TRUE(found);
}

TEST(RealApiServerTest, IsSilentWhileFrozen) {
  const std::shared_ptr<Real> real = SharedServer();
  ASSERT_NE(real, nullptr);
  real->server().Freeze();
  const Result<HttpResponse> silent =
      real->transport().Send(kube::ListRequest(kube::kSecrets, {}), Deadline::After(std::chrono::milliseconds(300)));
  EXPECT_EQ(silent.status().code(), StatusCode::kDeadlineExceeded);
  real->server().Thaw();
  const Result<HttpResponse> answer =
      real->transport().Send(kube::ListRequest(kube::kSecrets, {}), Deadline::After(std::chrono::seconds(30)));
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->code, 200);
}

}  // namespace
}  // namespace espalier::ctl::client
