// Deletes a finished job's children by cleanPodPolicy, and pods that do not end. A deletion takes effect when the
// kubelet confirms it. The kubelet of a lost node never does, so a pod that still exists after its grace period and
// forceDeleteAfterSeconds is deleted with grace period 0. For a pod that was evicted from an unreachable node, only
// forceDeleteAfterSeconds counts.
#include "operator/plan/cleanup.h"

#include "operator/plan/certificate_stage.h"
#include "operator/plan/final_progress.h"
#include "operator/plan/program_pod.h"

namespace espalier::ctl::plan {
namespace {

using api::CleanPodPolicy;

bool JobHasEnded(const kube::Job& job) {
  return job.complete || job.has_failed || job.failure_target || job.success_criteria_met;
}

// Returns whether the Job is kept for now although its programs have ended and only other containers keep its pods
// running (held pods, program_pod.h). With policy None the Job is kept. With policy Running it is kept until
// kHeldPodGrace after the end of the job, because a sidecar may end by itself in that time, and its pod is then kept
// with its logs.
bool KeepsHeldPods(PlanBuilder& builder, const JobRun& run, CleanPodPolicy policy) {
  if (policy == CleanPodPolicy::kAll || !IsHeldOnlyByOtherContainers(run)) return false;
  if (policy == CleanPodPolicy::kNone) return true;
  const kube::WallTime due = *builder.status().finished_at + kHeldPodGrace;
  if (builder.now() >= due) return false;
  builder.RequeueAt(due);
  return true;
}

// Deletes Jobs. Unless the policy is All, Jobs that have ended keep their pods and logs. A Job whose programs still run
// is deleted under every policy: a job that exceeded its deadline, or whose servers cannot start, must stop training.
void DeleteJobs(PlanBuilder& builder, const std::map<int64_t, JobRun>& runs, CleanPodPolicy policy) {
  for (const auto& [number, run] : runs) {
    if (run.job == nullptr || (policy != CleanPodPolicy::kAll && JobHasEnded(*run.job))) continue;
    if (HasFinalProgressPending(builder, run)) continue;  // the pod's next event triggers another reconcile
    if (KeepsHeldPods(builder, run, policy)) continue;
    builder.Delete(kube::kJobs, run.job->meta, kube::Propagation::kForeground);
  }
}

// Names the containers that still hold a pod after the end of the job, in the messages of conditions.
void WriteHolders(PlanBuilder& builder) {
  const auto write = [&builder](const char* condition, const std::map<int64_t, JobRun>& runs) {
    const std::string holders = HoldersText(runs, /*except=*/0);
    builder.ClearCondition(condition, kJobEnded,
                           holders.empty() ? "the job has ended" : "the job has ended; " + holders);
  };
  write(api::kTrainersReady, builder.world().trainer_runs());
  if (!builder.status().partition) write(api::kPartitioned, builder.world().partition_runs());
}

// Returns whether the pod was Ready when it was evicted, which shows that its node was healthy. A pod that an
// administrator's taint evicts from a healthy node is Ready until the eviction. On an unreachable node, the node
// lifecycle controller sets Ready of all pods to False before it evicts them, even if their deletion was requested a
// moment earlier, for example by the Job controller. Caveat: on a node that responds but is NotReady, pods lose Ready
// too and look like those of a lost node.
bool WasReadyWhenEvicted(const kube::Pod& pod) {
  return pod.ready || (pod.ready_changed_at && pod.disrupted_since && *pod.ready_changed_at > *pod.disrupted_since);
}

// Returns the end of the pod's grace period: trainers may need minutes to save a checkpoint. For a pod that was evicted
// because its node is unreachable, returns the time of the deletion request, because no kubelet uses the grace period.
kube::WallTime DeletionDeadline(const kube::Pod& pod) {
  const kube::WallTime requested_at = *pod.meta.deletion_requested_at;
  const bool is_on_lost_node = pod.disruption_reason == "DeletionByTaintManager" && !WasReadyWhenEvicted(pod);
  return is_on_lost_node ? requested_at : requested_at + pod.meta.deletion_grace;
}

void ForceDeleteLost(PlanBuilder& builder, const std::vector<const kube::Pod*>& pods) {
  for (const kube::Pod* pod : pods) {
    const std::optional<kube::WallTime> force_delete_at = ForceDeleteAt(builder, *pod);
    if (!force_delete_at) continue;
    if (builder.now() < *force_delete_at) {
      builder.RequeueAt(*force_delete_at);
      continue;
    }
    builder.Add(DeleteChild{&kube::kPods, pod->meta.key, pod->meta.uid, /*force=*/true});
    builder.AddEvent(runtime::EventType::kWarning, "PodForceDeleted", "ForceDelete",
                     "pod " + pod->meta.key.name + " on node " + pod->node + " was not deleted in time");
  }
}

void DeleteAfterTtl(PlanBuilder& builder) {
  const auto& ttl = builder.run_policy().ttl_after_finished;
  if (!ttl) return;
  const kube::WallTime end = *builder.status().finished_at + *ttl;
  if (builder.now() < end) return builder.RequeueAt(end);
  builder.Add(DeleteSelf{});
}

}  // namespace

void DeleteSets(PlanBuilder& builder) {
  // In the foreground: the disruption controller looks up the StatefulSet of each pod that a PodDisruptionBudget
  // selects, and writes a Warning event (CalculateExpectedPodCountFailed) if the StatefulSet is gone before the pod.
  const auto remove = [&builder](const kube::StatefulSet& set) {
    builder.Delete(kube::kStatefulSets, set.meta, kube::Propagation::kForeground);
  };
  for (const kube::StatefulSet* set : builder.world().server_sets()) remove(*set);
  if (builder.world().sampler_set() != nullptr) remove(*builder.world().sampler_set());
}

bool KeepsServers(const api::DistTraining& training, const World& world) {
  if (api::EffectiveRunPolicy(training).clean_pod_policy != CleanPodPolicy::kNone) return false;
  return !world.server_sets().empty() || world.sampler_set() != nullptr;
}

void CleanUp(PlanBuilder& builder) {
  api::Status& status = builder.status();
  status.observed_generation = builder.training().meta.generation;
  if (!status.finished_at) status.finished_at = builder.stamp();
  WriteHolders(builder);
  const CleanPodPolicy policy = builder.run_policy().clean_pod_policy;
  // With policy None a job that has succeeded keeps its Jobs: they do not run, even if a stale cache shows them
  // running.
  if (policy != CleanPodPolicy::kNone || api::IsTrue(status, api::kFailed)) {
    DeleteJobs(builder, builder.world().trainer_runs(), policy);
    DeleteJobs(builder, builder.world().partition_runs(), policy);
  }
  if (policy != CleanPodPolicy::kNone) DeleteSets(builder);
  DeleteAfterTtl(builder);
  if (KeepsServers(builder.training(), builder.world())) RenewCertificates(builder);
}

std::optional<kube::WallTime> ForceDeleteAt(const PlanBuilder& builder, const kube::Pod& pod) {
  if (!pod.meta.deletion_requested_at) return std::nullopt;
  return DeletionDeadline(pod) + builder.run_policy().force_delete_after;
}

// The grace period may be minutes, so that the program can save a checkpoint. After the program has ended, the other
// containers need only kHeldPodGrace.
void ShortenGraceOfHeldPods(PlanBuilder& builder) {
  for (const api::Role role : {api::Role::kPartitioner, api::Role::kTrainer}) {
    for (const kube::Pod* pod : builder.world().pods(role)) {
      if (pod->meta.deletion_requested_at && pod->meta.deletion_grace > kHeldPodGrace && IsHeld(*pod)) {
        DeleteHeldPod(builder, *pod);
      }
    }
  }
}

void DeleteHeldPod(PlanBuilder& builder, const kube::Pod& pod) {
  DeleteChild deletion{&kube::kPods, pod.meta.key, pod.meta.uid};
  deletion.grace = kHeldPodGrace;
  builder.Add(std::move(deletion));
}

void ForceDeleteLostPods(PlanBuilder& builder) {
  for (const api::Role role : api::kRoles) ForceDeleteLost(builder, builder.world().pods(role));
  ForceDeleteLost(builder, builder.world().leftovers());
}

}  // namespace espalier::ctl::plan
