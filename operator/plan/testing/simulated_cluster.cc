// The objects, the API server's rules, and the events of the simulation. Changed() counts every change, so that RunAll
// (simulated_controllers.cc) can run the controllers until nothing changes any more.
#include "operator/plan/testing/simulated_cluster.h"

#include <algorithm>

#include "operator/kube/json.h"
#include "operator/plan/program_pod.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan::testing {

namespace {

// The kubelet's rule for restartPolicy Never: all containers have ended, and none of them with an error.
void SetPhaseOfEndedContainers(kube::Pod* pod) {
  bool all_well = true;
  for (const kube::ContainerState& container : pod->containers) {
    if (!container.ended) return;
    all_well = all_well && container.ended->succeeded();
  }
  pod->phase = all_well ? kube::PodPhase::kSucceeded : kube::PodPhase::kFailed;
}

}  // namespace

Ending PartitionEnding(const std::string& hash) {
  return {.exit_code = 0,
          .message = R"({"reason": "Done", "exitCode": 0, "message": "", "partition": {"hash": ")" + hash +
                     R"(", "bytes": 4096, "cut": 0.25}})"};
}

void DropUnrequested(const Lookups& lookups, Observed* seen) {
  if (!lookups.certificates) {
    seen->authority.reset();
    seen->leaves.clear();
  }
  if (!lookups.referenced_secrets) seen->missing_secrets.clear();
  std::erase_if(seen->suspended_by, [&](const auto& entry) {
    return std::count(lookups.suspended_jobs.begin(), lookups.suspended_jobs.end(), entry.first) == 0;
  });
  std::erase_if(seen->mount_failures, [&](const auto& entry) {
    return std::count(lookups.mount_failures_of.begin(), lookups.mount_failures_of.end(), entry.first) == 0;
  });
  std::erase_if(seen->queue.flavors, [&](const auto& entry) {
    return std::count(lookups.flavors.begin(), lookups.flavors.end(), entry.first) == 0;
  });
  if (lookups.priority_class.empty()) {
    seen->queue.priority.reset();
    seen->queue.priority_error.clear();
  }
  std::erase_if(seen->creation_failures, [&](const auto& entry) {
    return std::count(lookups.creation_failures_of.begin(), lookups.creation_failures_of.end(), entry.first) == 0;
  });
}

SimulatedCluster::SimulatedCluster(api::DistTraining training)
    : training_(std::move(training)),
      now_(training_.meta.created_at),
      nodes_{{"node-0", false}, {"node-1", false}, {"node-2", false}, {"node-3", false}} {
  training_.meta.resource_version = std::to_string(resource_version_);
}

kube::ContainerState& ProgramOf(kube::Pod& pod) {
  const std::string& role = pod.meta.labels[resources::kComponentLabel];
  const auto found = std::find_if(pod.containers.begin(), pod.containers.end(),
                                  [&](const kube::ContainerState& container) { return container.name == role; });
  return found == pod.containers.end() ? pod.containers.front() : *found;
}

std::string SimulatedCluster::NewUid() { return "uid-" + std::to_string(next_uid_++); }

Observed SimulatedCluster::Now() const {
  Observed seen;
  for (const auto& [name, job] : jobs_) seen.jobs.push_back(std::make_shared<kube::Job>(job));
  for (const auto& [name, set] : sets_) seen.stateful_sets.push_back(std::make_shared<kube::StatefulSet>(set));
  for (const auto& [name, pod] : pods_) seen.pods.push_back(std::make_shared<kube::Pod>(pod.pod));
  for (const auto& [name, child] : others_) {
    if (*child.resource != kube::kPodGroups) seen.others.push_back(child);
  }
  ShowPodGroups(&seen);
  seen.conflicting_objects = conflicting_objects_;
  seen.authority = authority_;
  seen.leaves = leaves_;
  seen.missing_secrets = missing_secrets_;
  seen.suspended_by = suspended_by_;
  seen.queue.is_enabled = uses_kueue_;
  seen.queue.list_error = workloads_unknown_;
  for (const auto& [name, object] : workloads_) {
    Result<kube::QueuedWorkload> workload = kube::ParseQueuedWorkload(object);
    if (workload.ok() && uses_kueue_ && workloads_unknown_.empty()) {
      seen.queue.workloads.push_back(std::make_shared<kube::QueuedWorkload>(*std::move(workload)));
    }
  }
  seen.queue.flavors = flavors_;
  seen.queue.priority = priority_;
  if (!priority_) seen.queue.priority_error = "not found";
  if (dry_run_generation_) {
    using Refusal = Observed::DryRun::Refusal;
    seen.dry_run = Observed::DryRun{.generation = *dry_run_generation_,
                                    .refusal = template_error_.empty() ? Refusal::kNone : Refusal::kTemplate,
                                    .error = template_error_};
  }
  for (const api::ChildRef& child : training_.status.child_refs) {
    if (child.kind == kube::kJobs.kind && !jobs_.contains(child.name)) seen.confirmed_gone.push_back(child.name);
  }
  if (!mount_failure_.empty()) {
    for (const auto& [name, pod] : pods_) seen.mount_failures[pod.pod.meta.uid] = mount_failure_;
  }
  if (!creation_error_.empty()) {
    for (const auto& [name, job] : jobs_) seen.creation_failures[job.meta.uid] = {creation_error_};
    for (const auto& [name, set] : sets_) seen.creation_failures[set.meta.uid] = {creation_error_};
  }
  return seen;
}

void SimulatedCluster::Edit(const std::function<void(api::DistTraining*)>& edit) {
  edit(&training_);
  ++training_.meta.generation;
  training_.meta.resource_version = std::to_string(++resource_version_);
}

Status SimulatedCluster::WriteStatus(const api::Status& status, const std::string& based_on) {
  if (based_on != training_.meta.resource_version) return Aborted("the resource has changed");
  // The status is converted to JSON and back, as the API server stores it: values that JSON does not contain are lost.
  const std::optional<api::Progress> progress = training_.status.progress;  // another field manager's
  training_.status = api::StatusFromJson(api::ToJson(status));
  training_.status.progress = progress;
  training_.meta.resource_version = std::to_string(++resource_version_);
  return {};
}

// Actions -------------------------------------------------------------------------------------------------------

Status SimulatedCluster::Do(const Action& action) {
  Changed();
  if (const auto* apply = std::get_if<ApplyChild>(&action)) return Apply(*apply);
  if (const auto* deletion = std::get_if<plan::DeleteChild>(&action)) return Delete(*deletion);
  if (const auto* patch = std::get_if<PatchWorkloadStatus>(&action)) return PatchWorkload(*patch);
  if (std::holds_alternative<DeleteSelf>(action)) deleted_ = true;
  if (const auto* progress = std::get_if<WriteProgress>(&action)) {
    training_.status.progress = progress->progress;
    training_.meta.resource_version = std::to_string(++resource_version_);
  }
  if (std::holds_alternative<DryRunTemplates>(action)) dry_run_generation_ = training_.meta.generation;
  const auto renewal = training_.meta.annotations.find(resources::kRenewAnnotation);
  const std::string asked = renewal == training_.meta.annotations.end() ? std::string() : renewal->second;
  if (std::holds_alternative<MakeAuthority>(action)) {
    const std::string fingerprint = NewUid();
    authority_ = {.expires_at = now_ + std::chrono::hours(24 * 3650), .authority = fingerprint, .renewal = {}};
  }
  if (const auto* leaf = std::get_if<MakeLeaf>(&action)) {
    if (!authority_) return FailedPrecondition("no authority");
    leaves_[leaf->role] = {
        .expires_at = now_ + resources::kLeafLifetime, .authority = authority_->authority, .renewal = asked};
  }
  return {};
}

Status SimulatedCluster::Apply(const ApplyChild& apply) {
  ASSIGN_OR_RETURN(kube::ObjectMeta meta, kube::ParseObjectMeta(apply.object));
  const std::string name = meta.key.name;
  for (const Child& other : conflicting_objects_) {
    if (*other.resource == *apply.resource && other.meta.key.name == name) return FailedPrecondition("name taken");
  }
  const Name key{std::string(apply.resource->kind), name};
  const bool is_job = *apply.resource == kube::kJobs;
  const bool is_set = *apply.resource == kube::kStatefulSets;
  const kube::ObjectMeta* there = nullptr;
  if (is_job && jobs_.count(name) > 0) there = &jobs_[name].meta;
  if (is_set && sets_.count(name) > 0) there = &sets_[name].meta;
  if (others_.count(key) > 0) there = &others_[key].meta;
  if (*apply.resource == kube::kWorkloads) return ApplyWorkload(apply.object, meta);
  if (there != nullptr && !IsOurs(*there)) return FailedPrecondition(name + " belongs to another owner");
  if (!apply.uid.empty() && (there == nullptr || there->uid != apply.uid)) return Aborted(name + " has changed");
  meta.uid = there != nullptr ? there->uid : NewUid();
  meta.created_at = there != nullptr ? there->created_at : now_;
  meta.generation = there != nullptr ? there->generation + 1 : 1;
  if (there != nullptr) meta.deletion_requested_at = there->deletion_requested_at;

  if (is_job) {
    if (there != nullptr) return {};  // the fields that the operator sets are immutable
    ASSIGN_OR_RETURN(kube::Job job, kube::ParseJob(apply.object));
    job.meta = meta;
    job.completions = std::max<int64_t>(1, job.completions);
    jobs_[name] = job;
  } else if (is_set) {
    ASSIGN_OR_RETURN(const kube::StatefulSet applied, kube::ParseStatefulSet(apply.object));
    kube::StatefulSet& set = sets_[name];
    set.meta = meta;
    set.wanted = applied.wanted;
    set.pod_group = applied.pod_group;
  } else {
    others_[key] = {apply.resource, meta};
    if (*apply.resource == kube::kPodGroups) KeepPodGroup(apply.object, meta);
  }
  return {};
}

Status SimulatedCluster::Delete(const plan::DeleteChild& deletion) {
  const std::string& name = deletion.key.name;
  if (*deletion.resource == kube::kPods) {
    const auto pod = pods_.find(name);
    if (pod == pods_.end()) return {};
    if (pod->second.pod.meta.uid != deletion.uid) return Aborted(name + " is another pod by now");
    if (deletion.force) {
      pods_.erase(pod);
    } else {
      RequestDeletion(&pod->second);
      kube::ObjectMeta& meta = pod->second.pod.meta;
      if (deletion.grace) meta.deletion_grace = std::min(meta.deletion_grace, *deletion.grace);
    }
    return {};
  }
  const auto uid_of = [&]() -> std::string {
    if (const kube::Job* job = FindJob(name); job != nullptr && *deletion.resource == kube::kJobs) return job->meta.uid;
    if (const auto set = sets_.find(name); set != sets_.end() && *deletion.resource == kube::kStatefulSets) {
      return set->second.meta.uid;
    }
    if (const auto workload = workloads_.find(name);
        workload != workloads_.end() && *deletion.resource == kube::kWorkloads) {
      return kube::StringAt(workload->second, {"metadata", "uid"});
    }
    const auto other = others_.find({std::string(deletion.resource->kind), name});
    return other == others_.end() ? std::string() : other->second.meta.uid;
  };
  const std::string uid = uid_of();
  if (uid.empty()) return {};  // gone already
  if (uid != deletion.uid) return Aborted(name + " is another object by now");
  DeleteObject(*deletion.resource, name, deletion.propagation);
  return {};
}

void SimulatedCluster::DeleteObject(const kube::Resource& resource, const std::string& name,
                                    kube::Propagation propagation) {
  Changed();
  kube::ObjectMeta* meta = nullptr;
  if (kube::Job* job = FindJob(name); resource == kube::kJobs && job != nullptr) meta = &job->meta;
  if (kube::StatefulSet* set = FindSet(name); resource == kube::kStatefulSets && set != nullptr) meta = &set->meta;
  if (meta != nullptr && propagation == kube::Propagation::kForeground) {
    if (!meta->deletion_requested_at) meta->deletion_requested_at = now_;
    return;
  }
  if (resource == kube::kJobs) jobs_.erase(name);
  if (resource == kube::kStatefulSets) sets_.erase(name);
  if (resource == kube::kWorkloads) workloads_.erase(name);
  if (resource == kube::kPodGroups) pod_groups_.erase(name);
  others_.erase({std::string(resource.kind), name});
}

// Events --------------------------------------------------------------------------------------------------------

bool SimulatedCluster::EndPod(const std::string& name, const Ending& ending) {
  kube::Pod* pod = FindPod(name);
  if (pod == nullptr || pod->phase != kube::PodPhase::kRunning || IsLost(pod->node)) return false;
  Changed();
  const std::string reason = !ending.reason.empty() ? ending.reason : ending.exit_code == 0 ? "Completed" : "Error";
  SimulatedPod& simulated = pods_.at(name);
  const kube::ContainerEnd end = EndNow(simulated, ending.exit_code, reason, ending.message);
  kube::ContainerState& container = ProgramOf(*pod);
  if (container.ended) return false;
  if (pod->meta.controller->kind == kube::kStatefulSets.kind) {  // restartPolicy: Always
    container.last_ended = end;
    ++container.restarts;
    simulated.started_at = now_;
    return true;
  }
  container.ended = end;
  container.ready = pod->ready = false;
  SetPhaseOfEndedContainers(pod);
  return true;
}

kube::ContainerEnd SimulatedCluster::EndNow(const SimulatedPod& pod, int exit_code, const std::string& reason,
                                            const std::string& message) const {
  return {.exit_code = exit_code,
          .signal = 0,
          .reason = reason,
          .message = message,
          .started_at = std::chrono::floor<std::chrono::seconds>(pod.started_at),
          .finished_at = std::chrono::floor<std::chrono::seconds>(now_)};
}

bool SimulatedCluster::EndSidecar(const std::string& name, int exit_code) {
  kube::Pod* pod = FindPod(name);
  if (pod == nullptr || pod->phase != kube::PodPhase::kRunning || pod->containers.size() < 2) return false;
  kube::ContainerState& container = pod->containers.front();
  if (container.ended) return false;
  Changed();
  container.ended = EndNow(pods_.at(name), exit_code, exit_code == 0 ? "Completed" : "Error", /*message=*/"");
  container.ready = pod->ready = false;
  SetPhaseOfEndedContainers(pod);
  return true;
}

void SimulatedCluster::SetReady(const std::string& name, bool ready) {
  Changed();
  kube::Pod* const pod = FindPod(name);
  pod->ready = ProgramOf(*pod).ready = ready;
}

void SimulatedCluster::Kill(const std::string& name) { EndPod(name, {.exit_code = 137}); }

bool SimulatedCluster::IsLost(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second;
}

void SimulatedCluster::LoseNode(const std::string& node) {
  Changed();
  nodes_[node] = true;
  for (auto& [name, pod] : pods_) {
    if (pod.pod.node == node) pod.pod.ready = false;
  }
}

void SimulatedCluster::Unschedule(const std::string& name, const std::string& reason) {
  Changed();
  kube::Pod* const pod = FindPod(name);
  pod->node.clear();
  pod->phase = kube::PodPhase::kPending;
  pod->ready = false;
  for (kube::ContainerState& container : pod->containers) container.ready = false;
  pod->unscheduled_message = reason;
}

void SimulatedCluster::RestoreNode(const std::string& node) {
  Changed();
  nodes_[node] = false;
}

void SimulatedCluster::DeleteChild(const kube::Resource& resource, const std::string& name,
                                   kube::Propagation propagation) {
  DeleteObject(resource, name, propagation);
}

void SimulatedCluster::DeletePod(const std::string& name) {
  if (const auto pod = pods_.find(name); pod != pods_.end()) RequestDeletion(&pod->second);
}

void SimulatedCluster::SuspendJob(const std::string& name, bool suspend, const std::string& manager) {
  Changed();
  kube::Job* const job = FindJob(name);
  job->suspended = suspend;
  job->suspended_since.reset();
  if (suspend) job->suspended_since = std::chrono::floor<std::chrono::seconds>(now_);
  suspended_by_[name] = {.name = manager, .last_write = std::chrono::floor<std::chrono::seconds>(now_)};
}

void SimulatedCluster::DeleteSecrets() {
  authority_.reset();
  leaves_.clear();
}

void SimulatedCluster::ExpireCertificates() {
  for (auto& [role, leaf] : leaves_) leaf.expires_at = now_;
}

void SimulatedCluster::Occupy(const kube::Resource& resource, const std::string& name, bool with_label) {
  Child child{&resource, {}};
  child.meta.key = {training_.meta.key.name_space, name};
  child.meta.uid = NewUid();
  child.meta.controller = kube::OwnerReference{"apps/v1", "Deployment", "other", "uid-of-other"};
  child.meta.created_at = now_;
  if (!with_label) {
    conflicting_objects_.push_back(child);
  } else if (resource == kube::kJobs) {
    jobs_[name].meta = child.meta;
  } else if (resource == kube::kStatefulSets) {
    sets_[name].meta = child.meta;
  } else {
    others_[{std::string(resource.kind), name}] = child;
  }
}

void SimulatedCluster::Vacate(const std::string& name) {
  std::erase_if(conflicting_objects_, [&](const Child& child) { return child.meta.key.name == name; });
  std::erase_if(others_, [&](const auto& other) { return other.first.second == name && !IsOurs(other.second.meta); });
  if (const kube::Job* job = FindJob(name); job != nullptr && !IsOurs(job->meta)) jobs_.erase(name);
  if (const kube::StatefulSet* set = FindSet(name); set != nullptr && !IsOurs(set->meta)) sets_.erase(name);
}

// Observation ---------------------------------------------------------------------------------------------------

std::vector<std::string> SimulatedCluster::PodsOf(const std::string& controller) const {
  std::vector<std::string> names;
  for (const auto& [name, pod] : pods_) {
    if (pod.pod.meta.controller->name == controller) names.push_back(name);
  }
  return names;
}

kube::Pod* SimulatedCluster::FindPod(const std::string& name) {
  const auto found = pods_.find(name);
  return found == pods_.end() ? nullptr : &found->second.pod;
}

kube::Job* SimulatedCluster::FindJob(const std::string& name) {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? nullptr : &found->second;
}

kube::StatefulSet* SimulatedCluster::FindSet(const std::string& name) {
  const auto found = sets_.find(name);
  return found == sets_.end() ? nullptr : &found->second;
}

bool SimulatedCluster::Has(const kube::Resource& resource, const std::string& name) const {
  if (resource == kube::kJobs) return jobs_.count(name) > 0;
  if (resource == kube::kStatefulSets) return sets_.count(name) > 0;
  if (resource == kube::kWorkloads) return workloads_.count(name) > 0;
  return others_.count({std::string(resource.kind), name}) > 0;
}

std::string SimulatedCluster::NodeOf(const std::string& pod) const {
  const auto found = pods_.find(pod);
  return found == pods_.end() ? std::string() : found->second.pod.node;
}

std::vector<int64_t> SimulatedCluster::RunningIncarnations() const {
  std::vector<int64_t> incarnations;
  for (const auto& [name, pod] : pods_) {
    const std::string& controller = pod.pod.meta.controller->name;
    const std::string prefix = training_.meta.key.name + "-trainer-";
    if (pod.pod.phase != kube::PodPhase::kRunning || controller.rfind(prefix, 0) != 0) continue;
    if (ProgramHasEnded(pod.pod)) continue;
    const int64_t incarnation = std::stoll(controller.substr(prefix.size()));
    if (std::find(incarnations.begin(), incarnations.end(), incarnation) == incarnations.end()) {
      incarnations.push_back(incarnation);
    }
  }
  return incarnations;
}

}  // namespace espalier::ctl::plan::testing
