// A step works on snapshots of pods, Jobs and StatefulSets, and the controllers write to the server directly, as in
// FakeApiServer::Put. Only deletions use the API, since they have grace periods and finalizers. Each part sees the
// changes of the other parts at the next step at the latest.
#include "operator/testing/fake_cluster.h"

#include <utility>

#include "operator/kube/request.h"
#include "operator/resources/labels.h"
#include "operator/testing/controllers.h"
#include "services/base/check.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::cluster {

using kube::Json;

PodEnd Exit(int code, const std::string& message) {
  telemetry::TerminationMessage words;
  words.code = static_cast<ExitCode>(code);
  words.message = message;
  return {code, telemetry::TerminationJson(words), code == 0 ? "Completed" : "Error"};
}

PodEnd OutOfMemoryEnd() { return {137, "", "OOMKilled"}; }

PodEnd Partitioned() {
  telemetry::TerminationMessage words;
  words.message = "partitioned";
  words.partition = telemetry::TerminationMessage::Partition{.hash = "0f3a9c", .bytes = 4096, .cut = 0.25};
  return {0, telemetry::TerminationJson(words), "Completed"};
}

bool IsTerminating(const Json& object) { return kube::Find(object, {"metadata", "deletionTimestamp"}) != nullptr; }

int64_t NumberLabel(const Json& pod, const char* name) {
  const std::string text = kube::StringAt(pod, {"metadata", "labels", name});
  return text.empty() ? 0 : std::stoll(text);
}

ParsedPods::ParsedPods(const Pods& pods, const char* index_label, const std::set<std::string>& counted) {
  for (const Json& object : pods) {
    Result<kube::Pod> pod = kube::ParsePod(object);
    ESPALIER_CHECK(pod.ok()) << pod.status().ToString();
    pods_.push_back(*std::move(pod));
  }
  for (size_t i = 0; i < pods.size(); ++i) {
    views_.push_back({.pod = &pods_[i],
                      .index = NumberLabel(pods[i], index_label),
                      .is_counted = counted.contains(pods_[i].meta.uid)});
  }
}

FakeCluster::FakeCluster(client::FakeApiServer& server, WallClock now, int num_nodes)
    : server_(server), now_(std::move(now)), transport_(server.Connect("kube-controller-manager")) {
  for (int i = 0; i < num_nodes; ++i) nodes_.push_back("node-" + std::to_string(i));
}

FakeCluster::~FakeCluster() = default;

std::optional<PodEnd> FakeCluster::DefaultProgram(const RunningPod& pod) {
  if (pod.role == "partitioner") return Partitioned();
  return std::nullopt;
}

void FakeCluster::FailNode(const std::string& node) { failed_nodes_.insert(node); }

void FakeCluster::EvictFromFailedNodes() {
  for (const Json& pod : server_.All(kube::kPods)) {
    if (failed_nodes_.count(kube::StringAt(pod, {"spec", "nodeName"})) == 0 || IsTerminating(pod)) continue;
    Json status = pod.value("status", Json::object());
    status["conditions"] = Json::array({{{"type", "Ready"}, {"status", "Unknown"}},
                                        {{"type", "DisruptionTarget"},
                                         {"status", "True"},
                                         {"reason", "DeletionByTaintManager"},
                                         {"message", "Taint manager: deleting due to NoExecute taint"}}});
    SetStatus(kube::kPods, pod, status);
    const Result<kube::ObjectMeta> meta = kube::ParseObjectMeta(pod);
    ESPALIER_CHECK(meta.ok()) << meta.status().ToString();
    DeletePod(*meta);
  }
}

int FakeCluster::Step() {
  changes_ = 0;
  PodsByOwner by_owner;
  const auto before = server_.All(kube::kPods, &known_pods_);
  for (const auto& pod : before) {
    for (const Json& owner : kube::ListAt(*pod, {"metadata", "ownerReferences"})) {
      if (kube::BoolAt(owner, {"controller"})) by_owner[kube::StringAt(owner, {"uid"})].push_back(*pod);
    }
  }
  const auto pods_of = [&](const Json& owner) -> const Pods& {
    return by_owner[kube::StringAt(owner, {"metadata", "uid"})];
  };
  JobController jobs(*this);
  for (const auto& job : server_.All(kube::kJobs, &known_jobs_)) jobs.Sync(*job, pods_of(*job));
  StatefulSetController sets(*this);
  for (const auto& set : server_.All(kube::kStatefulSets, &known_sets_)) sets.Sync(*set, pods_of(*set));
  Kubelet kubelet(*this);
  for (const auto& pod : server_.All(kube::kPods, &known_pods_)) kubelet.Sync(*pod);
  return changes_;
}

void FakeCluster::DeletePod(const kube::ObjectMeta& pod) {
  kube::DeleteOptions options;
  options.uid = pod.uid;
  const auto answer =
      transport_->Send(kube::DeleteRequest(kube::kPods, pod.key, options), Deadline::After(std::chrono::seconds(10)));
  ESPALIER_CHECK(answer.ok()) << answer.status().ToString();
  ++changes_;
}

void FakeCluster::MakePod(const Json& controller, const kube::Resource& resource, const std::string& name,
                          Json extra_labels, const std::string& hostname) {
  const Json* const pod_template = kube::Find(controller, {"spec", "template"});
  ESPALIER_CHECK(pod_template != nullptr && pod_template->is_object()) << "a workload without a template";
  Json pod = *pod_template;
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& meta = pod["metadata"];
  meta["name"] = name;
  meta["namespace"] = kube::StringAt(controller, {"metadata", "namespace"});
  meta["creationTimestamp"] = kube::FormatTime(now_());
  meta["labels"].update(extra_labels);
  meta["ownerReferences"] = Json::array({{{"apiVersion", resource.api_version()},
                                          {"kind", resource.kind},
                                          {"name", kube::StringAt(controller, {"metadata", "name"})},
                                          {"uid", kube::StringAt(controller, {"metadata", "uid"})},
                                          {"controller", true},
                                          {"blockOwnerDeletion", true}}});
  pod["spec"]["hostname"] = hostname;
  if (!sidecar_.empty()) {
    Json& containers = pod["spec"]["containers"];
    containers.insert(containers.begin(), Json{{"name", sidecar_}});
  }
  pod["status"] = {{"phase", "Pending"}};
  const Status put = server_.Put(kube::kPods, std::move(pod));
  ESPALIER_CHECK(put.ok()) << put.ToString();
  ++changes_;
}

void FakeCluster::ReportFailedCreate(const Json& controller, const kube::Resource& resource) {
  const std::string name = kube::StringAt(controller, {"metadata", "name"});
  const kube::ObjectKey key{kube::StringAt(controller, {"metadata", "namespace"}), name + ".failed-create"};
  if (server_.Find(kube::kCoreEvents, key)) return;
  const Status put = server_.Put(kube::kCoreEvents, {{"apiVersion", "v1"},
                                                     {"kind", "Event"},
                                                     {"metadata", {{"name", key.name}, {"namespace", key.name_space}}},
                                                     {"involvedObject",
                                                      {{"kind", resource.kind},
                                                       {"name", name},
                                                       {"namespace", key.name_space},
                                                       {"uid", kube::StringAt(controller, {"metadata", "uid"})}}},
                                                     {"reason", "FailedCreate"},
                                                     {"message", "Error creating: " + pod_refusal_},
                                                     {"type", "Warning"},
                                                     {"lastTimestamp", kube::FormatTime(now_())}});
  ESPALIER_CHECK(put.ok()) << put.ToString();
  ++changes_;
}

bool FakeCluster::SetStatus(const kube::Resource& resource, const Json& object, const Json& status) {
  if (object.contains("status") && object["status"] == status) return false;
  const kube::ObjectKey key{kube::StringAt(object, {"metadata", "namespace"}),
                            kube::StringAt(object, {"metadata", "name"})};
  const std::string uid = kube::StringAt(object, {"metadata", "uid"});
  const Status updated = server_.Update(resource, key, [&](Json& live) {
    if (kube::StringAt(live, {"metadata", "uid"}) == uid) live["status"] = status;
  });
  if (!updated.ok()) return false;  // the object was deleted in the meantime
  ++changes_;
  return true;
}

}  // namespace espalier::ctl::cluster
