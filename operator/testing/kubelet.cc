// Each step moves a pod one state further: scheduled, running and ready, ended. A pod of a failed node does not change.
// A pod that is being deleted is removed at once. The script's init container ends in the step in which the pod starts.
#include <algorithm>

#include "operator/api/program_container.h"
#include "operator/resources/labels.h"
#include "operator/testing/controllers.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::cluster {
namespace {

using kube::Json;

std::string Label(const Json& pod, const char* name) { return kube::StringAt(pod, {"metadata", "labels", name}); }

std::string PodIp(int64_t number) {
  return "10." + std::to_string(number / 65536 % 256) + "." + std::to_string(number / 256 % 256) + "." +
         std::to_string(number % 256);
}

Json Conditions(bool ready) {
  return Json::array(
      {{{"type", "PodScheduled"}, {"status", "True"}}, {{"type", "Ready"}, {"status", ready ? "True" : "False"}}});
}

Json Terminated(const PodEnd& end, kube::WallTime now) {
  return {{"terminated",
           {{"exitCode", end.exit_code},
            {"reason", end.reason},
            {"message", end.message},
            {"finishedAt", kube::FormatTime(now)}}}};
}

bool ProgramHasEnded(const Json& pod) {
  const Json& containers = kube::ListAt(pod, {"status", "containerStatuses"});
  return std::any_of(containers.begin(), containers.end(), [](const Json& container) {
    return kube::Find(container, {"state", "terminated"}) != nullptr;
  });
}

// Returns how the script's init container ends, or nullopt if the pod has none.
std::optional<PodEnd> EndOfScript(const Json& pod, const std::string& found_sha256) {
  for (const Json& container : kube::ListAt(pod, {"spec", "initContainers"})) {
    if (kube::StringAt(container, {"name"}) != api::kScriptContainer) continue;
    const Json& arguments = kube::ListAt(container, {"args"});
    const auto flag = std::find(arguments.begin(), arguments.end(), "--sha256");
    telemetry::TerminationMessage words;
    words.script_sha256 = found_sha256;
    if (flag != arguments.end() && *std::next(flag) != found_sha256) {
      words.code = ExitCode::kUnavailable;
      words.message = "it has SHA-256 " + found_sha256 + ", but the job expects " + std::next(flag)->get<std::string>();
    }
    const int code = static_cast<int>(words.code);
    return PodEnd{code, telemetry::TerminationJson(words), code == 0 ? "Completed" : "Error"};
  }
  return std::nullopt;
}

RunningPod ViewOf(const Json& pod) {
  RunningPod view;
  view.name = kube::StringAt(pod, {"metadata", "name"});
  view.name_space = kube::StringAt(pod, {"metadata", "namespace"});
  view.job = Label(pod, resources::kJobLabel);
  view.role = Label(pod, resources::kComponentLabel);
  view.node = kube::StringAt(pod, {"spec", "nodeName"});
  view.index = NumberLabel(pod, resources::kCompletionIndexLabel) + NumberLabel(pod, kOrdinalLabel);
  view.incarnation = NumberLabel(pod, resources::kIncarnationLabel);
  view.attempt = NumberLabel(pod, resources::kAttemptLabel);
  for (const Json& container : kube::ListAt(pod, {"status", "containerStatuses"})) {
    view.restarts = static_cast<int>(kube::IntegerAt(container, {"restartCount"}).value_or(0));
  }
  return view;
}

}  // namespace

void Kubelet::Sync(const Json& pod) {
  const std::string node = kube::StringAt(pod, {"spec", "nodeName"});
  if (cluster_.failed_nodes_.count(node) > 0) return;
  if (IsTerminating(pod)) {
    const kube::ObjectKey key{kube::StringAt(pod, {"metadata", "namespace"}),
                              kube::StringAt(pod, {"metadata", "name"})};
    if (cluster_.server_.Remove(kube::kPods, key).ok()) ++cluster_.changes_;
    return;
  }
  if (node.empty()) return Schedule(pod);
  const std::string phase = kube::StringAt(pod, {"status", "phase"});
  if (phase == "Pending") return Begin(pod);
  if (phase == "Running") Follow(pod);
}

void Kubelet::Schedule(const Json& pod) {
  std::vector<std::string> alive;
  for (const std::string& node : cluster_.nodes_) {
    if (cluster_.failed_nodes_.count(node) == 0) alive.push_back(node);
  }
  if (alive.empty()) return;
  const std::string node = alive[static_cast<size_t>(cluster_.num_scheduled_++) % alive.size()];
  const kube::ObjectKey key{kube::StringAt(pod, {"metadata", "namespace"}), kube::StringAt(pod, {"metadata", "name"})};
  const Status updated =
      cluster_.server_.Update(kube::kPods, key, [&](Json& live) { live["spec"]["nodeName"] = node; });
  if (updated.ok()) ++cluster_.changes_;
}

void Kubelet::Begin(const Json& pod) {
  if (cluster_.held_back_.count(Label(pod, resources::kComponentLabel)) > 0) return;
  Json init_containers = Json::array();
  if (const auto script = EndOfScript(pod, cluster_.script_sha256_)) {
    init_containers.push_back({{"name", api::kScriptContainer}, {"state", Terminated(*script, cluster_.now_())}});
    if (script->exit_code != 0) {
      return (void)cluster_.SetStatus(kube::kPods, pod,
                                      {{"phase", "Failed"},
                                       {"conditions", Conditions(false)},
                                       {"initContainerStatuses", std::move(init_containers)}});
    }
  }
  Json containers = Json::array();
  for (const Json& container : kube::ListAt(pod, {"spec", "containers"})) {
    containers.push_back({{"name", kube::StringAt(container, {"name"})},
                          {"ready", true},
                          {"restartCount", 0},
                          {"state", {{"running", {{"startedAt", kube::FormatTime(cluster_.now_())}}}}}});
  }
  cluster_.SetStatus(kube::kPods, pod,
                     {{"phase", "Running"},
                      {"podIP", PodIp(cluster_.num_scheduled_)},
                      {"conditions", Conditions(true)},
                      {"initContainerStatuses", std::move(init_containers)},
                      {"containerStatuses", containers}});
}

void Kubelet::Follow(const Json& pod) {
  if (kube::StringAt(pod, {"spec", "restartPolicy"}) == "Never" && ProgramHasEnded(pod)) return;  // a sidecar runs
  const std::optional<PodEnd> end = cluster_.program_(ViewOf(pod));
  Json status = pod.value("status", Json::object());
  if (!end) {  // a restarted container is ready at the next step
    status["conditions"] = Conditions(true);
    for (Json& container : status["containerStatuses"]) container["ready"] = true;
    cluster_.SetStatus(kube::kPods, pod, status);
    return;
  }
  const bool restarts = kube::StringAt(pod, {"spec", "restartPolicy"}) != "Never";
  status["conditions"] = Conditions(false);
  const std::string& sidecar = cluster_.sidecar_;
  bool is_held = false;
  for (Json& container : status["containerStatuses"]) {
    if (!sidecar.empty() && kube::StringAt(container, {"name"}) == sidecar) {
      is_held = true;
      continue;
    }
    container["ready"] = false;
    if (restarts) {
      container["lastState"] = Terminated(*end, cluster_.now_());
      container["restartCount"] = kube::IntegerAt(container, {"restartCount"}).value_or(0) + 1;
    } else {
      container["state"] = Terminated(*end, cluster_.now_());
    }
  }
  if (!restarts && !is_held) status["phase"] = end->exit_code == 0 ? "Succeeded" : "Failed";
  cluster_.SetStatus(kube::kPods, pod, status);
}

}  // namespace espalier::ctl::cluster
