#include "operator/plan/job_start.h"

#include <algorithm>

#include "operator/plan/cleanup.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/restart_policy.h"

namespace espalier::ctl::plan {
namespace {

bool HasRunningPods(const JobRun& run) {
  return std::any_of(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return !HasEnded(*pod); });
}

// Returns whether pods of the run's Job still run although the Job is gone: another client has deleted it.
bool HasPodsWithoutJob(const JobRun& run) { return run.job == nullptr && HasRunningPods(run); }

}  // namespace

JobStart DeleteOtherJobs(PlanBuilder& builder, const std::map<int64_t, JobRun>& runs, int64_t number) {
  bool is_clear = true;
  for (const auto& [other, run] : runs) {
    if (other == number) {
      is_clear = is_clear && !HasPodsWithoutJob(run);
      continue;
    }
    for (const kube::Pod* pod : run.pods) {
      if (IsHeld(*pod) && !pod->meta.deletion_requested_at) DeleteHeldPod(builder, *pod);
    }
    if (run.job != nullptr) builder.Delete(kube::kJobs, run.job->meta, kube::Propagation::kForeground);
    is_clear = is_clear && run.job == nullptr && !HasRunningPods(run);
  }
  const auto current = runs.find(number);
  const kube::Job* job = current == runs.end() ? nullptr : current->second.job;
  if (job != nullptr && !job->meta.deletion_requested_at) return {};
  if (job != nullptr || !is_clear) return {.may_start = false, .waits_for = kOldPodsRemain};
  if (const auto start = EarliestStart(builder.status(), builder.now()); start && builder.now() < *start) {
    builder.RequeueAt(*start);
    return {.may_start = false, .waits_for = kBackoff};
  }
  return {.may_start = true, .waits_for = nullptr};
}

}  // namespace espalier::ctl::plan
