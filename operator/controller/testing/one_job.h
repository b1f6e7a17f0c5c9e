// For tests: a fake API server with one DistTraining, ml/cora, and the client and memory that parts of the controller
// use.
#pragma once

#include <memory>
#include <string>

#include "operator/api/testing/cluster_document.h"
#include "operator/client/api_client.h"
#include "operator/client/testing/fake_api_server.h"
#include "operator/controller/job_memory.h"
#include "services/base/check.h"

namespace espalier::ctl::controller {

struct OneJob {
  explicit OneJob(const kube::Json& spec = kube::Json::object()) {
    kube::Json object = api::ClusterDocument();
    object["spec"].merge_patch(spec);
    ESPALIER_CHECK(server.Put(kube::kDistTrainings, object).ok()) << "the DistTraining is not taken";
  }

  // Returns the DistTraining as the server stores it.
  kube::Json Stored() const { return *server.Find(kube::kDistTrainings, key); }
  api::DistTraining Training() const {
    Result<api::DistTraining> training = api::ParseDistTraining(Stored());
    ESPALIER_CHECK(training.ok()) << training.status().ToString();
    return *std::move(training);
  }
  // Stores an object that the job controls, or, unless `is_ours`, one without an owner.
  void PutObject(const kube::Resource& resource, const std::string& name, bool is_ours,
                 const kube::Json& more = kube::Json::object()) {
    kube::Json object = {{"apiVersion", resource.api_version()},
                         {"kind", resource.kind},
                         {"metadata", {{"name", name}, {"namespace", key.name_space}}}};
    if (is_ours) {
      object["metadata"]["ownerReferences"] =
          kube::Json::array({kube::MakeControllerReference(kube::kDistTrainings, Training().meta)});
    }
    object.merge_patch(more);
    ESPALIER_CHECK(server.Put(resource, object).ok()) << name << " is not taken";
  }
  // Returns the number of requests of this method whose target contains `part`.
  int NumRequests(const std::string& method, const std::string& part = "") const {
    int count = 0;
    for (const auto& request : server.log()) {
      count += request.method == method && request.target.find(part) != std::string::npos;
    }
    return count;
  }

  const kube::ObjectKey key{"ml", "cora"};
  kube::WallTime now{std::chrono::seconds(1'800'000'000)};
  client::FakeApiServer server;
  std::unique_ptr<client::HttpTransport> transport = server.Connect("operator");
  telemetry::MetricRegistry registry;
  client::ClientMetrics client_metrics{registry};
  client::ApiClient client{*transport, {.qps = 0}, client_metrics};
  JobMemory memory{[this] { return now; }};
};

}  // namespace espalier::ctl::controller
