// The metrics port with a real API server: tokens of service accounts, and the operator's permissions as the chart
// grants them. The API server reads roles a moment after they were written, so the test asks it until they have their
// effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/client/testing/real_api_server.h"
#include "operator/client/yaml_json.h"
#include "operator/metrics_port/metrics_port.h"
#include "services/base/file.h"
#include "services/http/curl_transport.h"
#include "services/pki/testing/certificate_folder.h"

namespace espalier::ctl::metrics_port {
namespace {

using kube::Json;
using pki::PeerRole;
using ::testing::HasSubstr;

constexpr char kOperator[] = "system:serviceaccount:default:espalier-operator";
constexpr char kScraper[] = "system:serviceaccount:default:scraper";
constexpr char kRbac[] = "/apis/rbac.authorization.k8s.io/v1/";
constexpr std::chrono::seconds kTimeout{60};

template <class T>
T ValueOrDie(Result<T> result) {
  ESPALIER_CHECK(result.ok()) << result.status().ToString();
  return *std::move(result);
}

std::unique_ptr<client::HttpTransport> Connect(const client::Connection& connection) {
  static const Status initialized = client::InitializeCpprest();
  ESPALIER_CHECK(initialized.ok()) << initialized.ToString();
  return ValueOrDie(client::MakeCpprestTransport(connection, {}));
}

class MetricsPortLiveTest : public ::testing::Test {
 protected:
  MetricsPortLiveTest()
      : server_(ValueOrDie(client::RealApiServer::Start())),
        admin_(Connect(server_->AdminConnection())),
        operator_(Connect(server_->ConnectionOf(kOperator, {}))) {
    folder_.Issue(PeerRole::kOperator,
                  {.identity = {pki::testing::kTestJob, PeerRole::kOperator}, .ip_addresses = {"127.0.0.1"}});
    port_ = ValueOrDie(MetricsPort::Start(
        {.certificate = {folder_.CertificateFile(PeerRole::kOperator), folder_.KeyFile(PeerRole::kOperator)}},
        *operator_, registry_));
  }

  // Sends the object to the API server as an administrator and returns the response's object.
  Json Post(const std::string& path, const Json& object) {
    const kube::HttpRequest request{"POST", path, {{"Content-Type", "application/json"}}, kube::Print(object)};
    const client::HttpResponse response = ValueOrDie(admin_->Send(request, Deadline::After(kTimeout)));
    ESPALIER_CHECK(response.code == 201) << path << ": " << response.code << " " << response.body;
    return ValueOrDie(kube::ParseJson(response.body));
  }
  void Bind(const std::string& role, const std::string& user) {
    Post(std::string(kRbac) + "clusterrolebindings",
         {{"metadata", {{"name", role}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
          {"subjects", {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", user}}}}});
  }
  // Creates a service account and returns a token of it.
  std::string MakeToken(const std::string& account) {
    const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
    Post(accounts, {{"metadata", {{"name", account}}}});
    return kube::StringAt(Post(accounts + "/" + account + "/token", {{"spec", {{"expirationSeconds", 3600}}}}),
                          {"status", "token"});
  }
  void WaitUntilAllowed(const std::string& user, const Json& attributes) {
    const Deadline deadline = Deadline::After(kTimeout);
    Json question = attributes;
    question["user"] = user;
    while (!kube::BoolAt(Post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {{"spec", question}}),
                         {"status", "allowed"})) {
      ESPALIER_CHECK(!deadline.HasPassed()) << user << " is not allowed: " << kube::Print(attributes);
    }
  }
  void AllowOperatorToReview() {
    const std::string path = std::string(ESPALIER_SOURCE_DIR) + "/operator/rbac/metrics_cluster_role.yaml";
    Post(std::string(kRbac) + "clusterroles",
         ValueOrDie(client::ParseYamlOrJson(ValueOrDie(ReadFile(path, size_t{1} << 20)))));
    Bind("espalier-operator-metrics-auth", kOperator);
    for (const auto& [group, resource] : {std::pair{"authentication.k8s.io", "tokenreviews"},
                                          std::pair{"authorization.k8s.io", "subjectaccessreviews"}}) {
      WaitUntilAllowed(kOperator,
                       {{"resourceAttributes", {{"group", group}, {"resource", resource}, {"verb", "create"}}}});
    }
  }
  void AllowScraper() {
    Post(std::string(kRbac) + "clusterroles", {{"metadata", {{"name", "espalier-metrics-reader"}}},
                                               {"rules", {{{"nonResourceURLs", {"/metrics"}}, {"verbs", {"get"}}}}}});
    Bind("espalier-metrics-reader", kScraper);
    WaitUntilAllowed(kScraper, {{"nonResourceAttributes", {{"path", "/metrics"}, {"verb", "get"}}}});
  }
  http::Response Get(const std::string& token) {
    http::CurlTransport transport({.ca_file = folder_.CaFile()});
    const http::Request request{.method = "GET",
                                .url = "https://" + port_->address() + "/metrics",
                                .headers = {{"Authorization", "Bearer " + token}}};
    return ValueOrDie(transport.Send(request, {.deadline = Deadline::After(kTimeout)}));
  }

  const std::unique_ptr<client::RealApiServer> server_;
  const std::unique_ptr<client::HttpTransport> admin_;
  const std::unique_ptr<client::HttpTransport> operator_;
  pki::testing::CertificateFolder folder_;
  telemetry::MetricRegistry registry_;
  std::unique_ptr<MetricsPort> port_;
};

TEST_F(MetricsPortLiveTest, ServesAuthorizedTokens) {
  const std::string scraper = MakeToken("scraper");
  EXPECT_EQ(Get(scraper).status, 503);  // the operator may not review tokens
  AllowOperatorToReview();
  AllowScraper();
  const http::Response allowed = Get(scraper);
  EXPECT_EQ(allowed.status, 200);
  EXPECT_THAT(allowed.body, HasSubstr("\nrest_client_requests_total{"));
  EXPECT_EQ(Get(MakeToken("other")).status, 403);
  EXPECT_EQ(Get(scraper + "x").status, 401);
}

}  // namespace
}  // namespace espalier::ctl::metrics_port
