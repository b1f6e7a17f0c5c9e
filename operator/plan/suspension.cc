// Suspended means: no pod is left and nothing is lost. Trainers are asked to end first (they save a checkpoint, and
// need the servers for it), then samplers and servers go to zero replicas.

#include <algorithm>

#include "operator/plan/stages.h"
#include "operator/resources/names.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;

bool HasLeft(const std::map<int64_t, JobRun>& runs) {
  return std::all_of(runs.begin(), runs.end(),
                     [](const auto& run) { return run.second.job == nullptr && run.second.pods.empty(); });
}

void DeleteJobs(Draft& draft, const std::map<int64_t, JobRun>& runs) {
  for (const auto& [number, run] : runs) {
    if (run.job != nullptr) draft.Delete(kube::kJobs, run.job->meta, kube::Propagation::kForeground);
  }
}

// Whatever else must not be made now: this only takes away. A job that is created suspended has nothing to take.
void Shrink(Draft& draft, const kube::StatefulSet& set, kube::Json object) {
  if (set.wanted == 0 || set.meta.deletion_requested_at) return;
  object["metadata"]["uid"] = set.meta.uid;
  draft.Do(ApplyChild{&kube::kStatefulSets, std::move(object), set.meta.uid});
}

void ScaleToZero(Draft& draft) {
  // Nothing can be rendered without a valid document, and the API server would not take what it refuses as a template;
  // with good ones they are made again.
  if (!draft.training().spec || AreTemplatesRefused(draft.training(), draft.seen())) return DeleteSets(draft);
  const resources::Context context = draft.context();
  for (const kube::StatefulSet* set : draft.world().server_sets()) {
    const auto replica = NumberOf(set->meta.key.name, draft.name(), resources::ServerSetName);
    Shrink(draft, *set, resources::ServerSet(context, *replica, /*scaled_to_zero=*/true));
  }
  const kube::StatefulSet* samplers = draft.world().sampler_set();
  if (samplers != nullptr) Shrink(draft, *samplers, resources::SamplerSet(context, /*scaled_to_zero=*/true));
}

}  // namespace

void Suspend(Draft& draft) {
  DeleteJobs(draft, draft.world().trainer_runs());
  DeleteJobs(draft, draft.world().partition_runs());
  const bool jobs_have_left = HasLeft(draft.world().trainer_runs()) && HasLeft(draft.world().partition_runs());
  if (jobs_have_left) ScaleToZero(draft);

  draft.Lower(api::kServersReady, kSuspending, "the job is suspended");
  draft.Lower(api::kTrainersReady, kSuspending, "the job is suspended");
  draft.Lower(api::kRestarting, kSuspending, "the job is suspended");
  if (jobs_have_left && !draft.world().has_pods()) {
    draft.Set(api::kSuspended, ConditionStatus::kTrue, kNoPodsLeft, "no pod of the job is left");
  } else {
    draft.Set(api::kSuspended, ConditionStatus::kFalse, kSuspending,
              jobs_have_left ? "servers and samplers are being stopped" : "trainers are saving their state");
  }
}

void StartOrResume(Draft& draft) {
  api::Status& status = draft.status();
  if (!api::IsTrue(status, api::kSuspended)) {
    if (!status.started_at) status.started_at = draft.stamp();
    return;
  }
  draft.Set(api::kSuspended, ConditionStatus::kFalse, kResumed, "the job was resumed");
  status.started_at = draft.stamp();
  if (status.incarnation > 0) {
    BeginIncarnation(draft, kResumed, "the job was resumed");
  } else if (status.partition_attempt > 0) {
    // Under a name of its own: several partitioners find what the group of an attempt has left, signs of life too.
    if (!status.partition) ++status.partition_attempt;
    status.restart_reason = kResumed;
  }
}

}  // namespace espalier::ctl::plan
