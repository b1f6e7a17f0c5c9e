// Blockers are not failures: the job continues by itself when a user or administrator has fixed the problem.
//
// Before the stages, DetectBlockers finds the blockers of the whole job: missing Secrets and refused objects. A stage
// whose role is not ready calls BlockerFor, which finds, in this order, a suspended Job, pods that could not be
// created, a gang that does not fit on the nodes, and a pod that cannot start. The messages about pods that could not
// be created, and about volumes that cannot be mounted, come from events, which are read only while pods or their
// containers are missing.
#include "operator/plan/blockers.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/str_join.h"
#include "operator/plan/gangs.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/restart_policy.h"

namespace espalier::ctl::plan {
namespace {

using api::Role;

const char* ToBlockerReason(std::string_view waiting) {
  if (IsImageProblem(waiting)) return kImagePull;
  if (waiting == kContainerConfig) return kContainerConfig;
  if (waiting == kContainerCreation || waiting == "RunContainerError") return kContainerCreation;
  if (waiting == kCrashLoop) return kCrashLoop;
  return nullptr;  // ContainerCreating, PodInitializing: in progress
}

std::optional<Blocker> FindContainerBlocker(const kube::Pod& pod, const kube::ContainerState& container) {
  const char* reason = ToBlockerReason(container.waiting_reason);
  if (reason == nullptr) return std::nullopt;
  Blocker blocker{.reason = reason, .message = container.waiting_message};
  const bool has_failed_before = container.last_ended && container.last_ended->exit_code != 0;
  if (reason == kCrashLoop && has_failed_before) {
    const Failure failure = FindFailure(pod, container, *container.last_ended);
    blocker.reason = failure.reason;
    blocker.message = failure.message;
    blocker.exit_code = failure.exit_code;
  }
  if (blocker.message.empty()) blocker.message = container.waiting_reason;
  return blocker;
}

std::optional<Blocker> FindPodBlocker(const kube::Pod& pod, const Observed& seen) {
  if (ProgramHasEnded(pod) || ProgramIsReady(pod) || pod.meta.deletion_requested_at) return std::nullopt;
  if (!pod.unscheduled_message.empty()) return Blocker{.reason = kUnschedulable, .message = pod.unscheduled_message};
  // Program containers first, then the others, such as an init container or a sidecar that must start before the
  // program.
  for (const bool of_program : {true, false}) {
    for (const kube::ContainerState& container : pod.containers) {
      if (IsProgramContainer(pod, container) != of_program) continue;
      if (auto blocker = FindContainerBlocker(pod, container)) return blocker;
    }
  }
  if (const auto failure = seen.mount_failures.find(pod.meta.uid); failure != seen.mount_failures.end()) {
    return Blocker{.reason = kFailedMount, .message = failure->second};
  }
  return std::nullopt;
}

// Returns whether the role's pods have volumes that the operator does not make.
bool HasUserVolumes(const api::Spec& spec, Role role) {
  return spec.tls == api::TlsMode::kSecretRef ||
         !kube::ListAt(spec.role(role).pod_template, {"spec", "volumes"}).empty();
}

// Returns, for each role with user volumes, the first pod that waits for its containers.
std::vector<const kube::Pod*> PodsWithoutContainers(const api::DistTraining& training, const World& world) {
  std::vector<const kube::Pod*> waiting;
  for (const Role role : api::kRoles) {
    const std::vector<const kube::Pod*>& pods = world.pods(role);
    if (!training.spec || !HasUserVolumes(*training.spec, role)) continue;
    const auto found =
        std::find_if(pods.begin(), pods.end(), [](const kube::Pod* pod) { return WaitsForItsContainers(*pod); });
    if (found != pods.end()) waiting.push_back(*found);
  }
  return waiting;
}

std::vector<const kube::ObjectMeta*> ListControllers(const World& world, const api::Status& status, Role role) {
  std::vector<const kube::ObjectMeta*> controllers;
  const auto add_job = [&](const JobRun& run) {
    if (run.job != nullptr) controllers.push_back(&run.job->meta);
  };
  switch (role) {
    case Role::kPartitioner: add_job(world.partition_run(status.partition_attempt)); break;
    case Role::kTrainer: add_job(world.trainer_run(status.incarnation)); break;
    case Role::kServer:
      for (const kube::StatefulSet* set : world.server_sets()) controllers.push_back(&set->meta);
      break;
    case Role::kSampler:
      if (world.sampler_set() != nullptr) controllers.push_back(&world.sampler_set()->meta);
      break;
  }
  return controllers;
}

std::optional<Blocker> FindCreationBlocker(const PlanBuilder& builder, Role role) {
  for (const kube::ObjectMeta* controller : ListControllers(builder.world(), builder.status(), role)) {
    const auto failures = builder.seen().creation_failures.find(controller->uid);
    if (failures == builder.seen().creation_failures.end() || failures->second.empty()) continue;
    return Blocker{.reason = kFailedCreate, .message = failures->second.front()};
  }
  return std::nullopt;
}

const JobRun* CurrentRun(const World& world, const api::Status& status, Role role) {
  if (role == Role::kPartitioner && !status.partition) return &world.partition_run(status.partition_attempt);
  if (role == Role::kTrainer) return &world.trainer_run(status.incarnation);
  return nullptr;
}

bool IsSuspended(const JobRun* run) {
  return run != nullptr && run->job != nullptr && run->job->suspended && !run->job->meta.deletion_requested_at;
}

std::string SuspensionText(const kube::Job& job, const Observed& seen) {
  const auto by = seen.suspended_by.find(job.meta.key.name);
  std::optional<kube::WallTime> since = job.suspended_since;
  if (!since && by != seen.suspended_by.end()) since = by->second.last_write;
  std::string text = "spec.suspend of Job " + job.meta.key.name + " has been true since " +
                     kube::FormatTime(since.value_or(job.meta.created_at)) + ", set by ";
  if (by == seen.suspended_by.end()) return text + "an unknown field manager";
  // For a field that a mutating webhook sets, the API server records the field manager of the request.
  if (by->second.name == kFieldManager) return text + "an admission webhook when the operator created the Job";
  return text + "field manager " + by->second.name;
}

std::optional<Blocker> FindSuspensionBlocker(const PlanBuilder& builder, Role role) {
  const JobRun* const run = CurrentRun(builder.world(), builder.status(), role);
  if (!IsSuspended(run)) return std::nullopt;
  return Blocker{.reason = kJobSuspended, .message = SuspensionText(*run->job, builder.seen())};
}

std::optional<Blocker> FindRoleBlocker(const PlanBuilder& builder, Role role) {
  if (auto blocker = FindSuspensionBlocker(builder, role)) return blocker;
  if (auto blocker = FindCreationBlocker(builder, role)) return blocker;
  if (auto blocker = FindGangBlocker(builder, role)) return blocker;
  for (const kube::Pod* pod : builder.world().pods(role)) {
    if (auto blocker = FindPodBlocker(*pod, builder.seen())) {
      blocker->pod = pod->meta.key.name;
      return blocker;
    }
  }
  return std::nullopt;
}

// A Job or StatefulSet that has too few pods, and the time by which it should have all of them.
struct MissingPods {
  const kube::ObjectMeta* controller;
  kube::WallTime complete_by;
};
std::vector<MissingPods> ListMissingPods(const api::DistTraining& training, const World& world, kube::WallTime now) {
  std::vector<MissingPods> missing;
  const kube::WallTime started = training.status.started_at.value_or(kube::WallTime{});
  const auto check = [&](const kube::ObjectMeta& meta, int64_t wanted, const char* condition) {
    if (meta.deletion_requested_at || world.CountPods(meta.uid) >= wanted) return;
    kube::WallTime since = std::max(meta.created_at, started);
    // The pod may have disappeared only a moment ago, although its controller is much older.
    if (const api::Condition* ready = api::FindCondition(training.status, condition)) {
      since = std::max(since, ready->status == api::ConditionStatus::kTrue ? now : ready->last_transition);
    }
    missing.push_back({&meta, since + kMissingPodsDelay});
  };
  const auto check_job = [&](const JobRun& run, const char* condition) {
    if (run.job == nullptr || run.job->suspended || run.job->complete || run.job->failure_target || run.job->has_failed)
      return;
    check(run.job->meta, run.job->completions - run.job->succeeded, condition);
  };
  check_job(world.partition_run(training.status.partition_attempt), api::kPartitioned);
  check_job(world.trainer_run(training.status.incarnation), api::kTrainersReady);
  for (const kube::StatefulSet* set : world.server_sets()) check(set->meta, set->wanted, api::kServersReady);
  if (const kube::StatefulSet* samplers = world.sampler_set()) {
    check(samplers->meta, samplers->wanted, api::kServersReady);
  }
  return missing;
}

// Returns the time until events are read again. It grows while a blocker lasts, because a full quota may affect
// hundreds of jobs. A late read delays only the message: watches report when the pods exist.
std::chrono::seconds EventReadInterval(std::chrono::microseconds missing_for) {
  return std::clamp(std::chrono::floor<std::chrono::seconds>(missing_for) / 10, kMinEventReadInterval,
                    kMaxEventReadInterval);
}

Blocker MakeSecretBlocker(const std::vector<Observed::MissingSecret>& missing) {
  std::vector<std::string> absent;
  std::string incomplete;
  for (const Observed::MissingSecret& secret : missing) {
    if (secret.keys.empty()) absent.push_back(secret.name);
    if (!secret.keys.empty())
      incomplete += "; the Secret " + secret.name + " lacks " + absl::StrJoin(secret.keys, ", ");
  }
  if (absent.empty()) return {.reason = kSecretKeyMissing, .message = incomplete.substr(2)};
  return {.reason = kSecretMissing,
          .message = "the document names Secrets that do not exist: " + absl::StrJoin(absent, ", ") + incomplete};
}

}  // namespace

bool WaitsForItsContainers(const kube::Pod& pod) {
  if (pod.node.empty() || pod.phase != kube::PodPhase::kPending || pod.meta.deletion_requested_at) return false;
  return std::all_of(pod.containers.begin(), pod.containers.end(), [](const kube::ContainerState& container) {
    return container.waiting_reason == "ContainerCreating" || container.waiting_reason == "PodInitializing";
  });
}

std::vector<std::string> ControllersMissingPods(const api::DistTraining& training, const World& world,
                                                kube::WallTime now) {
  std::vector<std::string> uids;
  for (const MissingPods& missing_pods : ListMissingPods(training, world, now)) {
    if (missing_pods.complete_by <= now) uids.push_back(missing_pods.controller->uid);
  }
  return uids;
}

std::vector<std::string> WaitingForVolumes(const api::DistTraining& training, const World& world, kube::WallTime now) {
  std::vector<std::string> uids;
  for (const kube::Pod* pod : PodsWithoutContainers(training, world)) {
    if (pod->meta.created_at + kMissingPodsDelay <= now) uids.push_back(pod->meta.uid);
  }
  return uids;
}

std::vector<std::string> SuspendedJobs(const api::DistTraining& training, const World& world) {
  std::vector<std::string> jobs;
  for (const Role role : {Role::kPartitioner, Role::kTrainer}) {
    const JobRun* const run = CurrentRun(world, training.status, role);
    if (IsSuspended(run)) jobs.push_back(run->job->meta.key.name);
  }
  return jobs;
}

bool IsImageProblem(std::string_view waiting_reason) {
  static constexpr std::string_view kReasons[] = {"ImagePullBackOff",  "ErrImagePull",      "InvalidImageName",
                                                  "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"};
  return std::find(std::begin(kReasons), std::end(kReasons), waiting_reason) != std::end(kReasons);
}

bool IsFixablePodBlocker(const std::string& reason) {
  return reason == kJobSuspended || reason == kSecretMissing || reason == kSecretKeyMissing || reason == kNameTaken ||
         reason == kRefused || reason == kFailedCreate || reason == kUnschedulable || reason == kFailedMount ||
         reason == kImagePull || reason == kContainerConfig || reason == kContainerCreation;
}

void DetectBlockers(PlanBuilder& builder) {
  if (builder.run_policy().suspend) return;
  const Observed& seen = builder.seen();
  if (!seen.missing_secrets.empty()) {
    builder.BlockChanges(MakeSecretBlocker(seen.missing_secrets));
    builder.RequeueAfter(kMinEventReadInterval);
  }
  if (seen.refusal)
    builder.SetBlocker({.reason = kRefused, .message = seen.refusal->child + ": " + seen.refusal->message});
  const auto requeue_from = [&](kube::WallTime due) {
    builder.RequeueAt(due > builder.now() ? due : builder.now() + EventReadInterval(builder.now() - due));
  };
  for (const MissingPods& missing_pods : ListMissingPods(builder.training(), builder.world(), builder.now()))
    requeue_from(missing_pods.complete_by);
  for (const kube::Pod* pod : PodsWithoutContainers(builder.training(), builder.world())) {
    requeue_from(pod->meta.created_at + kMissingPodsDelay);
  }
}

std::optional<Blocker> BlockerFor(PlanBuilder& builder, Role role) {
  if (builder.blocker()) return builder.blocker();
  std::optional<Blocker> blocker = FindRoleBlocker(builder, role);
  if (!blocker) return std::nullopt;
  blocker->role = api::ToString(role);
  builder.AddNote(*blocker);
  return blocker;
}

void WriteLastError(PlanBuilder& builder) {
  api::Status& status = builder.status();
  // A failure that this plan has found takes precedence. If the blocker remains, the next plan reports it.
  if (status.last_error && status.last_error != builder.training().status.last_error) return;
  if (const std::optional<Blocker>& blocker = builder.blocker_or_note()) {
    status.last_error = api::LastError{.role = blocker->role,
                                       .reason = blocker->reason,
                                       .message = blocker->message,
                                       .exit_code = blocker->exit_code,
                                       .pod = blocker->pod};
    return;
  }
  // Clears the error of a blocker that no longer exists. The failure that caused the newest restart is kept.
  if (status.last_error && status.last_error->reason != status.restart_reason) status.last_error.reset();
}

}  // namespace espalier::ctl::plan
