// The controllers of simulated_cluster.h: each Run... method makes one pass over its objects. What the Job and
// StatefulSet controllers decide is in operator/kube/testing/workload_controllers.h.
#include <algorithm>

#include "operator/kube/testing/workload_controllers.h"
#include "operator/plan/testing/simulated_cluster.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan::testing {
namespace {

using kube::PodPhase;
using kube::testing::HasEnded;

bool Contains(const std::vector<const kube::Pod*>& pods, const kube::Pod& pod) {
  return std::find(pods.begin(), pods.end(), &pod) != pods.end();
}

}  // namespace

void SimulatedCluster::MakePod(const kube::ObjectMeta& controller, const kube::Resource& resource,
                               const std::string& name, int64_t index) {
  Changed();
  SimulatedPod made;
  made.index = index;
  made.counted = resource != kube::kJobs;
  made.pod.meta.key = {controller.key.name_space, name};
  made.pod.meta.uid = NewUid();
  made.pod.meta.created_at = now_;
  made.pod.meta.labels = controller.labels;
  if (!made.counted) made.pod.meta.labels[resources::kCompletionIndexLabel] = std::to_string(index);
  made.pod.meta.controller =
      kube::OwnerReference{resource.api_version(), std::string(resource.kind), controller.key.name, controller.uid};
  made.pod.phase = PodPhase::kPending;
  const auto role = controller.labels.find(resources::kComponentLabel);
  if (sidecar_) made.pod.containers.push_back({.name = sidecar_->name, .waiting_reason = "ContainerCreating"});
  made.pod.containers.push_back(
      {.name = role == controller.labels.end() ? "" : role->second, .waiting_reason = "ContainerCreating"});
  pods_[name] = std::move(made);
}

void SimulatedCluster::RequestDeletion(SimulatedPod* pod) {
  if (pod->pod.meta.deletion_requested_at) return;
  Changed();
  pod->pod.meta.deletion_requested_at = std::chrono::floor<std::chrono::seconds>(now_);
  pod->pod.meta.deletion_grace = grace_;
}

std::vector<SimulatedCluster::SimulatedPod*> SimulatedCluster::PodsOfUid(const std::string& uid) {
  std::vector<SimulatedPod*> found;
  for (auto& [name, pod] : pods_) {
    if (pod.pod.meta.controller->uid == uid) found.push_back(&pod);
  }
  return found;
}

std::vector<kube::testing::WorkloadPod> SimulatedCluster::ViewPods(const std::vector<SimulatedPod*>& pods) {
  std::vector<kube::testing::WorkloadPod> views;
  for (const SimulatedPod* pod : pods) {
    views.push_back({.pod = &pod->pod, .index = pod->index, .is_counted = pod->counted});
  }
  return views;
}

void SimulatedCluster::RunJobController() {
  for (auto& [name, job] : jobs_) {
    if (IsOurs(job.meta)) SyncJob(&job);
  }
}

void SimulatedCluster::SyncJob(kube::Job* job) {
  const kube::Job before = *job;
  const std::vector<SimulatedPod*> pods = PodsOfUid(job->meta.uid);
  const kube::testing::JobDecision decision = kube::testing::DecideJob(*job, ViewPods(pods), now_);
  *job = decision.job;
  if (*job != before) Changed();
  for (SimulatedPod* pod : pods) {
    pod->counted = pod->counted || Contains(decision.counted, pod->pod);
    if (Contains(decision.deletions, pod->pod)) RequestDeletion(pod);
  }
  if (!creation_error_.empty()) return;
  for (const int64_t index : decision.missing) {
    MakePod(job->meta, kube::kJobs, job->meta.key.name + "-" + std::to_string(index) + "-" + NewUid(), index);
  }
}

void SimulatedCluster::RunStatefulSetController() {
  for (auto& [name, set] : sets_) {
    if (IsOurs(set.meta)) SyncSet(&set);
  }
}

void SimulatedCluster::SyncSet(kube::StatefulSet* set) {
  const kube::StatefulSet before = *set;
  const std::vector<SimulatedPod*> pods = PodsOfUid(set->meta.uid);
  const kube::testing::StatefulSetDecision decision = kube::testing::DecideStatefulSet(*set, ViewPods(pods));
  *set = decision.set;
  for (SimulatedPod* pod : pods) {
    if (Contains(decision.deletions, pod->pod)) RequestDeletion(pod);
  }
  for (const int64_t ordinal : decision.missing) {
    const std::string name = set->meta.key.name + "-" + std::to_string(ordinal);
    if (!creation_error_.empty() || pods_.contains(name)) continue;  // another controller's pod may have the name
    MakePod(set->meta, kube::kStatefulSets, name, ordinal);
    ++set->current;
  }
  if (*set != before) Changed();
}

void SimulatedCluster::RunGarbageCollector() {
  const auto has_owner = [this](const std::string& uid) {
    const auto has_uid = [&uid](const auto& entry) { return entry.second.meta.uid == uid; };
    return std::any_of(jobs_.begin(), jobs_.end(), has_uid) || std::any_of(sets_.begin(), sets_.end(), has_uid);
  };
  for (auto& [name, pod] : pods_) {
    if (has_owner(pod.pod.meta.controller->uid)) continue;
    pod.counted = true;  // without its Job no controller counts it
    RequestDeletion(&pod);
  }
  const auto collect = [this](auto* owners) {
    for (auto owner = owners->begin(); owner != owners->end();) {
      const std::vector<SimulatedPod*> pods = PodsOfUid(owner->second.meta.uid);
      const bool deleted = owner->second.meta.deletion_requested_at.has_value();
      for (SimulatedPod* pod : pods) {
        if (deleted) RequestDeletion(pod);
      }
      if (deleted && pods.empty()) {
        Changed();
        owner = owners->erase(owner);
      } else {
        ++owner;
      }
    }
  };
  collect(&jobs_);
  collect(&sets_);
}

void SimulatedCluster::RunScheduler() {
  for (auto& [name, pod] : pods_) {
    if (!pod.pod.node.empty() || !pod.pod.unscheduled_message.empty()) continue;
    for (size_t tried = 0; tried < nodes_.size() && pod.pod.node.empty(); ++tried) {
      const std::string node = "node-" + std::to_string(next_node_++ % static_cast<int64_t>(nodes_.size()));
      if (!IsLost(node)) pod.pod.node = node;
    }
    if (!pod.pod.node.empty()) Changed();
  }
}

void SimulatedCluster::RunKubelets() {
  for (auto& [name, pod] : pods_) SyncPod(&pod);
  const size_t erased = std::erase_if(pods_, [this](const auto& entry) {
    const SimulatedPod& pod = entry.second;
    if (!pod.pod.meta.deletion_requested_at || !pod.counted) return false;
    if (pod.pod.node.empty()) return true;
    return HasEnded(pod.pod) && !IsLost(pod.pod.node);
  });
  if (erased > 0) Changed();
}

void SimulatedCluster::SyncPod(SimulatedPod* pod) {
  if (pod->pod.node.empty() || IsLost(pod->pod.node) || HasEnded(pod->pod)) return;
  if (pod->pod.meta.deletion_requested_at) {
    const kube::Pod before = pod->pod;
    EndDeletedPod(pod);
    if (pod->pod != before) Changed();
    return;
  }
  if (pod->pod.phase == PodPhase::kPending) {
    if (!mount_failure_.empty()) return;
    Changed();
    pod->pod.phase = PodPhase::kRunning;
    pod->started_at = now_;
    for (kube::ContainerState& container : pod->pod.containers) container.waiting_reason.clear();
  } else if (!pod->pod.ready) {
    const kube::Pod before = pod->pod;
    pod->pod.ready = true;
    for (kube::ContainerState& container : pod->pod.containers) {
      container.ready = !container.ended && container.waiting_reason.empty();
      pod->pod.ready = pod->pod.ready && container.ready;
    }
    if (pod->pod != before) Changed();
  }
}

void SimulatedCluster::EndDeletedPod(SimulatedPod* simulated) const {
  kube::Pod* const pod = &simulated->pod;
  pod->ready = false;
  if (pod->phase != PodPhase::kRunning) {
    pod->phase = PodPhase::kFailed;
    return;
  }
  const auto ended = [&](int exit_code, const std::string& message) {
    return EndNow(*simulated, exit_code, "Error", message);
  };
  kube::ContainerState& program = ProgramOf(*pod);
  if (!program.ended) {
    program.ended = ended(75, R"({"reason": "Stopped", "exitCode": 75, "message": "asked to stop"})");
    program.ready = false;
  }
  const bool has_time_left = now_ < *pod->meta.deletion_requested_at + pod->meta.deletion_grace;
  for (kube::ContainerState& container : pod->containers) {
    if (container.ended) continue;
    if (sidecar_ && sidecar_->ignores_sigterm && has_time_left) return;
    container.ended = ended(143, "");
    container.ready = false;
  }
  pod->phase = PodPhase::kFailed;
}

void SimulatedCluster::RunTaintManager() {
  for (auto& [name, pod] : pods_) {
    if (!IsLost(pod.pod.node) || pod.pod.meta.deletion_requested_at || HasEnded(pod.pod)) continue;
    pod.pod.disruption_target = true;
    pod.pod.disruption_reason = "DeletionByTaintManager";
    RequestDeletion(&pod);
  }
}

void SimulatedCluster::RunAll() {
  int64_t before = 0;
  do {
    before = changes_;
    RunScheduler();
    RunKubelets();
    RunTaintManager();
    RunJobController();
    RunStatefulSetController();
    RunGarbageCollector();
  } while (changes_ != before);
}

}  // namespace espalier::ctl::plan::testing
