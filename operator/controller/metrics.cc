// Gauges follow the cache: a job's series are added, changed and removed with its TrainingRecord. The counters of
// restarts, failures and finished jobs follow status writes: they count differences between the status before and after
// a write, so that a change counts once.
#include "operator/controller/metrics.h"

namespace espalier::ctl::controller {
namespace {

// Returns the record's phase if `gauges` has it, else Pending: a job has no phase before its first reconcile.
std::string ToPhaseLabel(const std::map<std::string, telemetry::Gauge>& gauges, const TrainingRecord& record) {
  return gauges.count(record.phase) > 0 ? record.phase : api::ToString(api::Phase::kPending);
}

}  // namespace

ControllerMetrics::ControllerMetrics(telemetry::MetricRegistry& registry)
    : status_writes(registry.AddCounter("espalier_operator_status_writes_total", "Writes of DistTraining statuses.")),
      progress_polls(
          registry.AddCounter("espalier_operator_progress_polls_total", "Requests to trainers for their progress.")),
      progress_failures(
          registry.AddCounter("espalier_operator_progress_failures_total",
                              "Progress requests without the expected response, and failed writes of progress.")),
      registry_(registry),
      restarts_(registry.AddCounter("espalier_operator_restarts_total",
                                    "Incarnations of trainers after the first one of their job.")),
      counted_failures_(registry.AddCounter("espalier_operator_counted_failures_total",
                                            "Failures that count towards the backoffLimit of a job.")),
      succeeded_(registry.AddCounter("espalier_operator_jobs_finished_total", "Jobs that have ended.",
                                     {{"result", "Succeeded"}})),
      failed_(registry.AddCounter("espalier_operator_jobs_finished_total", "Jobs that have ended.",
                                  {{"result", "Failed"}})) {
  using api::Phase;
  for (const Phase phase :
       {Phase::kPending, Phase::kPartitioning, Phase::kStarting, Phase::kTraining, Phase::kRestarting,
        Phase::kSuspending, Phase::kSuspended, Phase::kSucceeded, Phase::kFailed}) {
    const std::string name = api::ToString(phase);
    jobs_[name] = registry.AddGauge("espalier_operator_jobs_count", "DistTrainings, by phase.", {{"phase", name}});
  }
}

void ControllerMetrics::OnTraining(const TrainingRecord* before, const TrainingRecord* after) {
  if (before != nullptr && !before->is_managed) before = nullptr;
  if (after != nullptr && !after->is_managed) after = nullptr;
  if (before == nullptr && after == nullptr) return;
  if (before != nullptr) jobs_[ToPhaseLabel(jobs_, *before)].Add(-1);
  if (after != nullptr) jobs_[ToPhaseLabel(jobs_, *after)].Add(1);
  const bool is_same_phase = before != nullptr && after != nullptr && before->phase == after->phase;
  if (is_same_phase && before->incarnation == after->incarnation) return;

  MutexLock lock(&mutex_);
  if (after == nullptr) {
    by_job_.erase(before->meta.key);
    return;
  }
  const kube::ObjectKey& key = after->meta.key;
  JobSeries& job = by_job_[key];
  telemetry::Labels labels = {{"job_namespace", key.name_space}, {"job_name", key.name}};
  if (job.incarnation == nullptr) {
    job.incarnation = registry_.AddTemporaryGauge("espalier_operator_job_incarnation_count",
                                                  "Incarnation of the job's trainers.", labels);
  }
  job.incarnation->Set(static_cast<double>(after->incarnation));
  if (is_same_phase) return;
  labels["phase"] = ToPhaseLabel(jobs_, *after);
  // The old gauge is removed before the new one is added, because an empty phase and Pending have the same series.
  job.info.reset();
  job.info = registry_.AddTemporaryGauge("espalier_operator_job_info",
                                         "Always 1; the label phase is the DistTraining's phase.", labels);
  job.info->Set(1);
}

void ControllerMetrics::OnStatus(const api::Status& before, const api::Status& after) {
  status_writes.Add();
  if (after.incarnation > before.incarnation && before.incarnation > 0) restarts_.Add();
  if (after.attempts_counted > before.attempts_counted) {
    counted_failures_.Add(static_cast<double>(after.attempts_counted - before.attempts_counted));
  }
  if (api::IsTerminal(before)) return;
  if (api::IsTrue(after, api::kSucceeded)) succeeded_.Add();
  if (api::IsTrue(after, api::kFailed)) failed_.Add();
}

}  // namespace espalier::ctl::controller
