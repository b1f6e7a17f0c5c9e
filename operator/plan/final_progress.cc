// While trainers run, the operator polls rank 0 for its progress (controller/progress.h). The last poll does not
// contain the final progress. The termination message of rank 0 contains it, and is available as long as the pod
// exists.

#include "operator/plan/final_progress.h"

#include <algorithm>

#include "operator/api/program_container.h"
#include "operator/plan/program_pod.h"
#include "operator/plan/reasons.h"
#include "operator/plan/termination_message.h"
#include "operator/resources/labels.h"
#include "services/telemetry/warnings_prefix.h"

namespace espalier::ctl::plan {
namespace {

// Returns whether the pod's first program container is rank 0.
bool HasRankZero(const kube::Pod& pod) {
  const auto index = pod.meta.labels.find(resources::kCompletionIndexLabel);
  return index != pod.meta.labels.end() && index->second == "0";
}

struct FinalProgress {
  api::Progress progress;
  std::string message;
};

// Returns nullopt if the pod has not succeeded, does not run rank 0, or does not report its epochs. Trainers of older
// versions do not report them.
std::optional<FinalProgress> FindFinalProgress(const kube::Pod& pod) {
  if (!ProgramHasSucceeded(pod) || !HasRankZero(pod)) return std::nullopt;
  for (const kube::ContainerState& container : pod.containers) {
    if (!container.ended || container.name != api::ProgramContainerName(api::Role::kTrainer, 0)) continue;
    const std::optional<Termination> termination = ParseTermination(container.ended->message);
    if (!termination || !termination->epochs) continue;
    return FinalProgress{
        .progress = {.epoch = *termination->epochs,
                     .percent = 100,  // also after early stopping: nothing is left to do
                     .eta_seconds = std::nullopt,
                     .metrics = termination->metrics,
                     .last_updated = std::chrono::floor<std::chrono::seconds>(container.ended->finished_at),
                     .phase = {},
                     .phase_percent = std::nullopt},
        .message = termination->message};
  }
  return std::nullopt;
}

}  // namespace

void PublishFinalProgress(PlanBuilder& builder) {
  if (!api::IsTrue(builder.status(), api::kSucceeded)) return;
  for (const auto& [incarnation, run] : builder.world().trainer_runs()) {
    for (const kube::Pod* pod : run.pods) {
      const std::optional<FinalProgress> last = FindFinalProgress(*pod);
      if (!last) continue;
      if (last->progress == builder.training().status.progress) return;
      builder.Add(WriteProgress{last->progress});
      // The progress is written once, so the event is recorded once.
      if (last->message.starts_with(telemetry::kWarningsPrefix)) {
        builder.AddEvent(runtime::EventType::kWarning, kTrainedWithWarnings, "Finish", last->message);
      }
      return;
    }
  }
}

bool HasFinalProgressPending(const PlanBuilder& builder, const JobRun& run) {
  if (!api::IsTrue(builder.status(), api::kSucceeded) || run.job == nullptr || !run.job->complete) return false;
  return std::any_of(run.pods.begin(), run.pods.end(),
                     [](const kube::Pod* pod) { return HasRankZero(*pod) && !ProgramHasEnded(*pod); });
}

}  // namespace espalier::ctl::plan
