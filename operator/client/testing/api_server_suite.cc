// The helpers of the suite. Every test has a namespace of its own, so that all tests can share one server.
#include "operator/client/testing/api_server_suite.h"

#include <unistd.h>

#include <atomic>

#include "services/base/clock.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;

constexpr std::chrono::seconds kSuiteTimeout{60};

}  // namespace

void ApiServerSuite::SetUp() {
  static std::atomic<int> num_tests{0};
  server_ = GetParam().start();
  ASSERT_NE(server_, nullptr);
  metrics_ = std::make_unique<telemetry::MetricRegistry>();
  client_metrics_ = std::make_unique<ClientMetrics>(*metrics_);
  client_ = std::make_unique<ApiClient>(server_->transport(), ApiClientOptions{.field_manager = "suite", .qps = 0},
                                        *client_metrics_);
  name_space_ = "suite-" + std::to_string(num_tests++);
  Create(kube::kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_space_}}}});
}

Json ApiServerSuite::Object(const kube::Resource& resource, const std::string& name) const {
  return {{"apiVersion", resource.api_version()},
          {"kind", resource.kind},
          {"metadata", {{"name", name}, {"namespace", name_space_}}}};
}

Json ApiServerSuite::ConfigMap(const std::string& name, Json data) const {
  Json object = Object(kube::kConfigMaps, name);
  if (!data.empty()) object["data"] = std::move(data);
  return object;
}

Json ApiServerSuite::Pod(const std::string& name, const std::string& node) const {
  Json object = Object(kube::kPods, name);
  object["spec"] = {{"containers", Json::array({{{"name", "main"}, {"image", "nothing"}}})},
                    {"terminationGracePeriodSeconds", 30}};
  if (!node.empty()) object["spec"]["nodeName"] = node;
  return object;
}

Json ApiServerSuite::StatefulSet(const std::string& name, int replicas) const {
  Json object = Object(kube::kStatefulSets, name);
  object["spec"] = {{"replicas", replicas},
                    {"serviceName", name},
                    {"selector", {{"matchLabels", {{"app", name}}}}},
                    {"template",
                     {{"metadata", {{"labels", {{"app", name}}}}},
                      {"spec", {{"containers", Json::array({{{"name", "main"}, {"image", "nothing"}}})}}}}}};
  return object;
}

Json ApiServerSuite::Job(const std::string& name) const {
  Json object = Object(kube::kJobs, name);
  object["spec"] = {
      {"template",
       {{"spec",
         {{"restartPolicy", "Never"}, {"containers", Json::array({{{"name", "main"}, {"image", "nothing"}}})}}}}}};
  return object;
}

Json ApiServerSuite::DistTraining(const std::string& name, Json spec) const {
  Json object = Object(kube::kDistTrainings, name);
  object["spec"] = std::move(spec);
  return object;
}

Json ApiServerSuite::OwnedBy(Json object, const kube::Resource& resource, const Json& owner) const {
  object["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", resource.api_version()},
                                                        {"kind", resource.kind},
                                                        {"name", kube::StringAt(owner, {"metadata", "name"})},
                                                        {"uid", UidOf(owner)},
                                                        {"controller", true},
                                                        {"blockOwnerDeletion", true}}});
  return object;
}

Json ApiServerSuite::Must(Result<Json> answer) const {
  EXPECT_TRUE(answer.ok()) << answer.status().ToString();
  return answer.ok() ? *std::move(answer) : Json();
}

bool ApiServerSuite::Exists(const kube::Resource& resource, const std::string& name) {
  const Result<Json> object = client_->Get(resource, Key(name));
  EXPECT_TRUE(object.ok() || object.status().code() == StatusCode::kNotFound) << object.status().ToString();
  return object.ok();
}

bool ApiServerSuite::Eventually(const std::function<bool()>& holds) const {
  const Deadline deadline = Deadline::After(kSuiteTimeout);
  while (!holds()) {
    if (deadline.HasPassed()) return false;
    Clock::Real().SleepFor(std::chrono::milliseconds(20));  // polls another process
  }
  return true;
}

std::vector<std::string> ApiServerSuite::Names(const kube::Resource& resource, kube::ListOptions options) {
  options.name_space = name_space_;
  const Result<ObjectList> list = client_->List(resource, options);
  EXPECT_TRUE(list.ok()) << list.status().ToString();
  std::vector<std::string> names;
  if (!list.ok()) return names;
  for (const Json& object : list->items) names.push_back(kube::StringAt(object, {"metadata", "name"}));
  return names;
}

HttpResponse ApiServerSuite::Send(const kube::HttpRequest& request) {
  const Result<HttpResponse> answer = server_->transport().Send(request, Deadline::After(kSuiteTimeout));
  EXPECT_TRUE(answer.ok()) << answer.status().ToString();
  return answer.ok() ? *answer : HttpResponse();
}

ApiServerSuite::Reader ApiServerSuite::Watch(const kube::Resource& resource, kube::WatchOptions options) {
  options.name_space = name_space_;
  Result<std::unique_ptr<LineStream>> lines = client_->Watch(resource, options);
  EXPECT_TRUE(lines.ok()) << lines.status().ToString();
  return Reader(lines.ok() ? *std::move(lines) : nullptr);
}

std::string ApiServerSuite::Reader::Next() {
  if (lines_ == nullptr) return "NOT OPEN";
  const Deadline deadline = Deadline::After(kSuiteTimeout);
  while (true) {
    const Result<std::optional<std::string>> line = lines_->Next(deadline);
    if (!line.ok()) return line.status().code() == StatusCode::kDeadlineExceeded ? "NOTHING" : line.status().ToString();
    if (!*line) return "END";
    const Result<kube::WatchEvent> event = kube::ParseWatchEvent(**line);
    if (!event.ok()) return event.status().ToString();
    object_ = event->object;
    const std::string name = kube::StringAt(object_, {"metadata", "name"});
    switch (event->type) {
      case kube::WatchEventType::kAdded: return "ADDED " + name;
      case kube::WatchEventType::kModified: return "MODIFIED " + name;
      case kube::WatchEventType::kDeleted: return "DELETED " + name;
      case kube::WatchEventType::kError: return "ERROR " + kube::StringAt(object_, {"reason"});
      case kube::WatchEventType::kBookmark: break;
    }
  }
}

std::string ApiServerSuite::Version(const kube::Resource& resource) {
  const Result<ObjectList> list = client_->List(resource, {.name_space = name_space_});
  EXPECT_TRUE(list.ok()) << list.status().ToString();
  return list.ok() ? list->resource_version : "";
}

}  // namespace espalier::ctl::client
