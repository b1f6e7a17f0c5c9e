// The server is started on first use and stopped by a GoogleTest environment after the last test. The definition is
// installed twice, by client-side and by server-side apply, because users do both.
#include "operator/tests/crd_server.h"

#include <gtest/gtest.h>

#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/client/yaml_json.h"
#include "operator/kube/condition.h"
#include "operator/schema/testing/documents.h"

namespace espalier::ctl {
namespace {

using kube::Json;

constexpr char kNamespace[] = "default";
constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";

Result<std::unique_ptr<client::HttpTransport>> Connect(const client::Connection& connection) {
  static const Status initialized = client::InitializeCpprest();
  RETURN_IF_ERROR(initialized);
  return client::MakeCpprestTransport(connection, {});
}

kube::HttpRequest CreateInNamespace(Json object) {
  object["metadata"]["namespace"] = kNamespace;
  kube::HttpRequest request = kube::CreateRequest(kube::kDistTrainings, object, "kubectl");
  request.target += "&fieldValidation=Strict";
  return request;
}

std::unique_ptr<CrdServer>& Shared() {
  static std::unique_ptr<CrdServer> server;
  return server;
}

class EndServer final : public ::testing::Environment {
 public:
  void TearDown() override { Shared().reset(); }
};
const ::testing::Environment* const kEndServer = ::testing::AddGlobalTestEnvironment(new EndServer);

}  // namespace

Result<std::unique_ptr<CrdServer>> CrdServer::Start() {
  auto server = std::make_unique<CrdServer>();
  ASSIGN_OR_RETURN(server->server_, client::RealApiServer::Start());
  ASSIGN_OR_RETURN(server->transport_, Connect(server->server_->AdminConnection()));
  RETURN_IF_ERROR(server->Install());
  return server;
}

// Installs the definition as client-side apply does, with all of it in an annotation, and then by server-side apply.
Status CrdServer::Install() {
  ASSIGN_OR_RETURN(const Json definition, client::ParseYamlOrJson(schema::ReadFileOrFail("crds/disttrainings.yaml")));
  Json annotated = definition;
  annotated["metadata"]["annotations"][kLastApplied] = kube::Print(definition);
  created_ = Send(kube::CreateRequest(kube::kCustomResourceDefinitions, annotated, "kubectl-client-side-apply"));
  kube::ApplyOptions options;
  options.field_manager = "kubectl";
  applied_ = Send(kube::ApplyRequest(kube::kCustomResourceDefinitions, definition, options));

  const kube::ObjectKey key{"", kube::StringAt(definition, {"metadata", "name"})};
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  while (!deadline.HasPassed()) {
    definition_ = Send(kube::GetRequest(kube::kCustomResourceDefinitions, key)).body;
    const bool is_established = kube::IsConditionTrue(definition_, "Established");
    if (is_established && Send(kube::ListRequest(kube::kDistTrainings, {})).code == 200) return {};
    Clock::Real().SleepFor(std::chrono::milliseconds(50));  // between polls of another process
  }
  return DeadlineExceeded("the definition is not served: " + created_.message());
}

CrdServer::Answer CrdServer::Send(kube::HttpRequest request) {
  const Result<client::HttpResponse> response = transport_->Send(request, Deadline::After(std::chrono::seconds(30)));
  if (!response.ok()) return {0, {{"message", response.status().ToString()}}};
  Result<Json> body = kube::ParseJson(response->body);
  return {response->code, body.ok() ? *std::move(body) : Json{{"message", response->body}}};
}

CrdServer::Answer CrdServer::DryCreate(const Json& object) {
  kube::HttpRequest request = CreateInNamespace(object);
  request.target += "&dryRun=All";
  return Send(std::move(request));
}

CrdServer::Answer CrdServer::Create(const Json& object) { return Send(CreateInNamespace(object)); }

CrdServer::Answer CrdServer::Get(const std::string& name) {
  return Send(kube::GetRequest(kube::kDistTrainings, {kNamespace, name}));
}

CrdServer::Answer CrdServer::Delete(const std::string& name, const std::string& uid) {
  return Send(kube::DeleteRequest(kube::kDistTrainings, {kNamespace, name}, {.uid = uid}));
}

CrdServer::Answer CrdServer::Patch(const std::string& name, const Json& merge_patch, const std::string& subresource) {
  return Send(kube::MergePatchRequest(kube::kDistTrainings, {kNamespace, name}, merge_patch, "kubectl", subresource));
}

CrdServer::Answer CrdServer::ApplyStatus(const std::string& name, const Json& status,
                                         const std::string& field_manager) {
  const Json object = {{"apiVersion", kube::kDistTrainings.api_version()},
                       {"kind", kube::kDistTrainings.kind},
                       {"metadata", {{"name", name}, {"namespace", kNamespace}}},
                       {"status", status}};
  kube::ApplyOptions options;
  options.field_manager = field_manager;
  return Send(kube::ApplyRequest(kube::kDistTrainings, object, options, "status"));
}

CrdServer* SharedCrdServer() {
  if (Shared() == nullptr) {
    Result<std::unique_ptr<CrdServer>> server = CrdServer::Start();
    EXPECT_TRUE(server.ok()) << server.status().ToString();
    if (server.ok()) Shared() = *std::move(server);
  }
  return Shared().get();
}

Json MinimalJob(const std::string& name) {
  const Result<Json> document = client::ParseYamlOrJson(schema::ReadFileOrFail("crds/examples/minimal.yaml"));
  EXPECT_TRUE(document.ok()) << document.status().ToString();
  Json job = document.ok() ? *document : Json::object();
  job["metadata"]["name"] = name;
  return job;
}

}  // namespace espalier::ctl
