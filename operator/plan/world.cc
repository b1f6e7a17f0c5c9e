// Objects are grouped by name and controller: a child is the job's own if its controller's uid is the job's. Pods come
// last, because they are matched against the Jobs and StatefulSets found before. A pod's role and its attempt or
// incarnation come from the name of its controller, which is still known when the controller itself is gone.
#include "operator/plan/world.h"

#include <algorithm>
#include <tuple>

#include "operator/plan/program_pod.h"
#include "operator/resources/names.h"
#include "services/base/parse_number.h"

namespace espalier::ctl::plan {
namespace {

using api::Role;

bool HasName(const Child& child, const kube::Resource& resource, std::string_view name) {
  return *child.resource == resource && child.meta.key.name == name;
}

}  // namespace

bool IsOurs(const kube::ObjectMeta& meta, const api::DistTraining& training) {
  return meta.controller && !training.meta.uid.empty() && meta.controller->uid == training.meta.uid;
}

std::optional<int64_t> ParseNumberInName(std::string_view name, const std::string& job,
                                         std::string (*make_name)(const std::string&, int64_t)) {
  const std::string_view digits = name.substr(std::min(name.size(), name.rfind('-') + 1));
  const std::optional<int64_t> number = ParseNumber<int64_t>(digits);
  if (!number || *number < 0 || make_name(job, *number) != name) return std::nullopt;
  return number;
}

World::World(const api::DistTraining& training, const Observed& seen) : training_(training) {
  for (const auto& job : seen.jobs) Add(*job);
  for (const auto& set : seen.stateful_sets) Add(*set);
  for (const Child& child : seen.others) AddObject(*child.resource, child.meta);
  for (const auto& workload : seen.queue.workloads) AddObject(kube::kWorkloads, workload->meta);
  for (const auto& group : seen.gangs.groups) AddObject(kube::kPodGroups, group->meta);
  for (const Child& child : seen.conflicting_objects) AddObject(*child.resource, child.meta);
  for (const auto& pod : seen.pods) Add(*pod);
  std::sort(children_.begin(), children_.end(), [](const Child& a, const Child& b) {
    return std::tie(a.resource->kind, a.meta.key.name) < std::tie(b.resource->kind, b.meta.key.name);
  });
}

bool World::AddObject(const kube::Resource& resource, const kube::ObjectMeta& meta) {
  const bool ours = IsOurs(meta, training_);
  (ours ? children_ : foreign_).push_back({&resource, meta});
  return ours;
}

void World::Add(const kube::Job& job) {
  if (!AddObject(kube::kJobs, job.meta)) return;
  const std::string& name = training_.meta.key.name;
  if (const auto attempt = ParseNumberInName(job.meta.key.name, name, resources::PartitionJobName)) {
    partitions_[*attempt].job = &job;
  } else if (const auto incarnation = ParseNumberInName(job.meta.key.name, name, resources::TrainerJobName)) {
    trainers_[*incarnation].job = &job;
  }
}

void World::Add(const kube::StatefulSet& set) {
  if (!AddObject(kube::kStatefulSets, set.meta)) return;
  const std::string& name = training_.meta.key.name;
  if (set.meta.key.name == resources::SamplerSetName(name)) {
    sampler_set_ = &set;
  } else if (ParseNumberInName(set.meta.key.name, name, resources::ServerSetName)) {
    server_sets_.push_back(&set);
  }
}

bool World::IsOwnPod(const kube::Pod& pod) const {
  const std::string& uid = pod.meta.controller->uid;
  const auto has_uid = [&uid](const Child& child) { return child.meta.uid == uid; };
  if (std::any_of(children_.begin(), children_.end(), has_uid)) return true;
  if (std::any_of(foreign_.begin(), foreign_.end(), has_uid)) return false;
  return pod.meta.created_at >= training_.meta.created_at;
}

// Returns whether the pod is older than the job, and the pod's controller is gone or is being deleted.
bool World::IsLeftOver(const kube::Pod& pod) const {
  const auto stays = [&pod](const Child& child) {
    return child.meta.uid == pod.meta.controller->uid && !child.meta.deletion_requested_at;
  };
  return pod.meta.created_at < training_.meta.created_at && std::none_of(foreign_.begin(), foreign_.end(), stays);
}

void World::Add(const kube::Pod& pod) {
  if (!pod.meta.controller) return;
  const std::string& job = training_.meta.key.name;
  const kube::OwnerReference& controller = *pod.meta.controller;
  std::map<int64_t, JobRun>* runs = nullptr;
  std::optional<int64_t> number;
  std::optional<Role> role;
  if (controller.kind == kube::kJobs.kind) {
    if ((number = ParseNumberInName(controller.name, job, resources::PartitionJobName))) {
      runs = &partitions_;
      role = Role::kPartitioner;
    } else if ((number = ParseNumberInName(controller.name, job, resources::TrainerJobName))) {
      runs = &trainers_;
      role = Role::kTrainer;
    }
  } else if (controller.kind == kube::kStatefulSets.kind) {
    if (controller.name == resources::SamplerSetName(job)) role = Role::kSampler;
    if (ParseNumberInName(controller.name, job, resources::ServerSetName)) role = Role::kServer;
  }
  if (!role) return;
  if (!IsOwnPod(pod)) {
    if (IsLeftOver(pod)) leftovers_.push_back(&pod);
    return;
  }
  if (runs != nullptr) (*runs)[*number].pods.push_back(&pod);
  pods_[static_cast<size_t>(*role)].push_back(&pod);
}

const JobRun& World::FindRun(const std::map<int64_t, JobRun>& runs, int64_t number) {
  static const JobRun kNone;
  const auto found = runs.find(number);
  return found == runs.end() ? kNone : found->second;
}

bool World::has_pods() const {
  return std::any_of(std::begin(pods_), std::end(pods_), [](const auto& pods) { return !pods.empty(); });
}

const kube::ObjectMeta* World::Find(const kube::Resource& resource, std::string_view name) const {
  for (const Child& child : children_) {
    if (HasName(child, resource, name)) return &child.meta;
  }
  return nullptr;
}

bool World::IsTaken(const kube::Resource& resource, std::string_view name) const {
  return std::any_of(foreign_.begin(), foreign_.end(),
                     [&](const Child& child) { return HasName(child, resource, name); });
}

int64_t World::CountPods(const std::string& controller_uid) const {
  int64_t count = 0;
  for (const auto& pods : pods_) {
    count += std::count_if(pods.begin(), pods.end(),
                           [&](const kube::Pod* pod) { return pod->meta.controller->uid == controller_uid; });
  }
  return count;
}

int64_t World::CountReadyPods(const kube::StatefulSet& set) const {
  int64_t count = 0;
  for (const auto& pods : pods_) {
    count += std::count_if(pods.begin(), pods.end(), [&](const kube::Pod* pod) {
      return pod->meta.controller->uid == set.meta.uid && ProgramIsReady(*pod);
    });
  }
  return count;
}

}  // namespace espalier::ctl::plan
