// Computes the part of the status that follows from the document, the observed cluster and the rest of the status. It
// is recomputed in every reconcile.

#include "operator/plan/make_status.h"

#include "operator/plan/blockers.h"
#include "operator/plan/program_pod.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

using api::Phase;
using api::Role;

int64_t CountFailedPods(const World& world, Role role) {
  int64_t failed = 0;
  for (const kube::Pod* pod : world.pods(role)) failed += pod->phase == kube::PodPhase::kFailed;
  return failed;
}

int64_t CountPartitioners(const api::DistTraining& training) {
  return training.spec ? training.spec->job.partitioner_replicas : 1;
}

int64_t CountTrainerPods(const api::DistTraining& training, const api::Status& status) {
  if (!training.spec) return status.trainer_replicas;
  return resources::CountTrainerPods(*training.spec, status.trainer_replicas);
}

api::ReplicaStatus ToReplicaStatus(const JobRun& run, int64_t wanted) {
  if (run.job == nullptr) return {.wanted = wanted, .ready = 0, .failed = 0};
  return {.wanted = wanted, .ready = CountReady(run), .failed = run.job->failed};
}

void CountReplicas(PlanBuilder& builder) {
  api::Status& status = builder.status();
  const World& world = builder.world();
  const bool is_stopped =
      api::IsTerminal(status) || status.phase == Phase::kSuspended || status.phase == Phase::kSuspending;
  status.replicas.clear();
  if (status.partition_attempt > 0) {
    status.replicas[api::ToString(Role::kPartitioner)] =
        ToReplicaStatus(world.partition_run(status.partition_attempt),
                        is_stopped || status.partition ? 0 : CountPartitioners(builder.training()));
  }
  if (!world.server_sets().empty()) {
    api::ReplicaStatus& servers = status.replicas[api::ToString(Role::kServer)];
    for (const kube::StatefulSet* set : world.server_sets()) {
      servers.wanted += set->wanted;
      servers.ready += world.CountReadyPods(*set);
    }
    servers.failed = CountFailedPods(world, Role::kServer);
  }
  if (const kube::StatefulSet* set = world.sampler_set()) {
    status.replicas[api::ToString(Role::kSampler)] = {
        .wanted = set->wanted, .ready = world.CountReadyPods(*set), .failed = CountFailedPods(world, Role::kSampler)};
  }
  if (status.incarnation > 0) {
    status.replicas[api::ToString(Role::kTrainer)] = ToReplicaStatus(
        world.trainer_run(status.incarnation), is_stopped ? 0 : CountTrainerPods(builder.training(), status));
  }
}

std::string SelectorText(const api::DistTraining& training) {
  std::string text;
  for (const auto& [label, value] : resources::MakeSelector(training, Role::kTrainer)) {
    text += (text.empty() ? "" : ",") + label + "=" + value;
  }
  return text;
}

}  // namespace

Phase DerivePhase(const api::Status& status) {
  if (api::IsTrue(status, api::kFailed)) return Phase::kFailed;
  if (api::IsTrue(status, api::kSucceeded)) return Phase::kSucceeded;
  if (const api::Condition* suspended = api::FindCondition(status, api::kSuspended)) {
    if (suspended->status == api::ConditionStatus::kTrue) return Phase::kSuspended;
    if (suspended->reason == kSuspending) return Phase::kSuspending;
  }
  if (status.partition_attempt == 0) return Phase::kPending;
  if (api::IsTrue(status, api::kRestarting)) return Phase::kRestarting;
  if (!status.partition) return Phase::kPartitioning;
  return api::IsTrue(status, api::kTrainersReady) ? Phase::kTraining : Phase::kStarting;
}

void Summarize(PlanBuilder& builder) {
  api::Status& status = builder.status();
  if (!api::IsTerminal(status)) WriteLastError(builder);
  status.phase = DerivePhase(status);
  CountReplicas(builder);
  status.selector = builder.training().spec ? SelectorText(builder.training()) : status.selector;
  status.child_refs.clear();
  for (const Child& child : builder.world().children()) {
    status.child_refs.push_back({std::string(child.resource->kind), child.meta.key.name});
  }
}

}  // namespace espalier::ctl::plan
