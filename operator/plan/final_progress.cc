// What a poll in mid-training said last is not how the training ended: the first trainer's last words are, and they
// stay with its pod.

#include <algorithm>

#include "operator/plan/program_pod.h"
#include "operator/plan/reasons.h"
#include "operator/plan/stages.h"
#include "operator/plan/termination_message.h"
#include "operator/resources/labels.h"
#include "services/telemetry/warnings_prefix.h"

namespace espalier::ctl::plan {
namespace {

bool IsRankZero(const kube::Pod& pod) {
  const auto index = pod.meta.labels.find(resources::kCompletionIndexLabel);
  return index != pod.meta.labels.end() && index->second == "0";
}

struct LastWords {
  api::Progress progress;
  std::string message;
};

// nullopt for a pod that trained to no end, or does not say how far: older trainers do not.
std::optional<LastWords> LastWordsOf(const kube::Pod& pod) {
  if (!ProgramHasSucceeded(pod) || !IsRankZero(pod)) return std::nullopt;
  for (const kube::ContainerState& container : pod.containers) {
    if (!container.ended || !IsProgramContainer(pod, container)) continue;
    const std::optional<Termination> said = ParseTermination(container.ended->message);
    if (!said || !said->epochs) continue;
    return LastWords{
        .progress = {.epoch = *said->epochs,
                     .percent = 100,  // also where it stopped early: nothing is left to do
                     .eta_seconds = std::nullopt,
                     .metrics = said->metrics,
                     .last_updated = std::chrono::floor<std::chrono::seconds>(container.ended->finished_at),
                     .phase = {},
                     .phase_percent = std::nullopt},
        .message = said->message};
  }
  return std::nullopt;
}

}  // namespace

void TellFinalProgress(Draft& draft) {
  if (!api::IsTrue(draft.status(), api::kSucceeded)) return;
  for (const auto& [incarnation, run] : draft.world().trainer_runs()) {
    for (const kube::Pod* pod : run.pods) {
      const std::optional<LastWords> last = LastWordsOf(*pod);
      if (!last) continue;
      if (last->progress == draft.training().status.progress) return;
      draft.Do(WriteProgress{last->progress});
      // Written once, so the event comes once.
      if (last->message.starts_with(telemetry::kWarningsPrefix)) {
        draft.Note(runtime::EventType::kWarning, kTrainedWithWarnings, "Finish", last->message);
      }
      return;
    }
  }
}

bool HasLastWordsToCome(const Draft& draft, const JobRun& run) {
  if (!api::IsTrue(draft.status(), api::kSucceeded) || run.job == nullptr || !run.job->complete) return false;
  return std::any_of(run.pods.begin(), run.pods.end(),
                     [](const kube::Pod* pod) { return IsRankZero(*pod) && !ProgramHasEnded(*pod); });
}

}  // namespace espalier::ctl::plan
