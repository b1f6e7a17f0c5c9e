// A job is Suspended when no pod is left. Trainers end first, because they save a checkpoint and need the servers for
// it; then samplers and servers are scaled to zero replicas. So no progress is lost.

#include "operator/plan/suspension.h"

#include <algorithm>

#include "operator/plan/acceptance.h"
#include "operator/plan/cleanup.h"
#include "operator/plan/gangs.h"
#include "operator/plan/trainer_stage.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;

bool AreGone(const std::map<int64_t, JobRun>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [](const auto& run) { return run.second.job == nullptr && run.second.pods.empty(); });
}

void DeleteJobs(PlanBuilder& builder, const std::map<int64_t, JobRun>& runs) {
  for (const auto& [number, run] : runs) {
    if (run.job != nullptr) builder.Delete(kube::kJobs, run.job->meta, kube::Propagation::kForeground);
  }
}

// Plans to apply `object`, which describes `set` with 0 replicas, even after PlanBuilder::BlockChanges, because this
// only removes pods.
void ScaleSetToZero(PlanBuilder& builder, const kube::StatefulSet& set, kube::Json object) {
  if (set.wanted == 0 || set.meta.deletion_requested_at) return;
  object["metadata"]["uid"] = set.meta.uid;
  builder.Add(ApplyChild{&kube::kStatefulSets, std::move(object), set.meta.uid});
}

void ScaleToZero(PlanBuilder& builder) {
  // If the document is invalid, nothing can be rendered. If the API server has refused the document's templates, it
  // would refuse them again. In both cases the StatefulSets are deleted. They are created again when the document is
  // valid and its templates are accepted.
  if (!builder.training().spec || AreTemplatesRefused(builder.training(), builder.seen())) return DeleteSets(builder);
  const resources::Context context = builder.context();
  for (const kube::StatefulSet* set : builder.world().server_sets()) {
    const auto replica = ParseNumberInName(set->meta.key.name, builder.name(), resources::ServerSetName);
    ScaleSetToZero(builder, *set, resources::ServerSet(context, *replica, /*scaled_to_zero=*/true));
  }
  const kube::StatefulSet* samplers = builder.world().sampler_set();
  if (samplers != nullptr) ScaleSetToZero(builder, *samplers, resources::SamplerSet(context, /*scaled_to_zero=*/true));
}

}  // namespace

void Suspend(PlanBuilder& builder) {
  DeleteJobs(builder, builder.world().trainer_runs());
  DeleteJobs(builder, builder.world().partition_runs());
  const bool jobs_are_gone = AreGone(builder.world().trainer_runs()) && AreGone(builder.world().partition_runs());
  if (jobs_are_gone) ScaleToZero(builder);

  builder.ClearCondition(api::kServersReady, kSuspending, "the job is suspended");
  builder.ClearCondition(api::kTrainersReady, kSuspending, "the job is suspended");
  builder.ClearCondition(api::kRestarting, kSuspending, "the job is suspended");
  if (jobs_are_gone && !builder.world().has_pods()) {
    DeleteGangs(builder);
    builder.SetCondition(api::kSuspended, ConditionStatus::kTrue, kNoPodsLeft, "no pod of the job is left");
  } else {
    builder.SetCondition(api::kSuspended, ConditionStatus::kFalse, kSuspending,
                         jobs_are_gone ? "servers and samplers are being stopped"
                                       : "partitioners and trainers are being stopped; trainers save a checkpoint");
  }
}

void StartOrResume(PlanBuilder& builder) {
  api::Status& status = builder.status();
  if (!api::IsTrue(status, api::kSuspended)) {
    if (!status.started_at) status.started_at = builder.stamp();
    return;
  }
  builder.SetCondition(api::kSuspended, ConditionStatus::kFalse, kResumed, "the job was resumed");
  status.started_at = builder.stamp();
  if (status.incarnation > 0) {
    BeginIncarnation(builder, kResumed, "the job was resumed");
  } else if (status.partition_attempt > 0) {
    // Partitioners find each other in the store of the partitions by a name that contains the attempt's number
    // (partition_job.cc). With the old number they would find the files of the earlier partitioners, including
    // heartbeats.
    if (!status.partition) ++status.partition_attempt;
    status.restart_reason = kResumed;
  }
}

}  // namespace espalier::ctl::plan
