#include "operator/kubectl/view/progress_text.h"

#include <algorithm>

#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/view/age.h"
#include "services/base/format_number.h"
#include "services/terminal/progress.h"

namespace espalier::ctl::view {
namespace {

constexpr int kBarWidth = 30;

std::optional<int64_t> FindEpochs(const api::DistTraining& training) {
  const bool is_known = training.spec && !training.spec->job.program;  // a user's program counts its own epochs
  return is_known ? std::optional(training.spec->job.training.epochs) : std::nullopt;
}

// "embedding 40.0 %"
std::string PhaseOfProgressText(const api::Progress& progress) {
  std::string text = text::Printable(progress.phase);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return progress.phase_percent ? text + " " + PercentText(*progress.phase_percent) : text;
}

}  // namespace

void EpochRate::Observe(const api::DistTraining& training) {
  const std::optional<api::Progress>& progress = training.status.progress;
  const std::optional<int64_t> epochs = FindEpochs(training);
  if (!progress || !epochs) return;
  if (IsInOtherPhase(*progress)) return;
  const Sample sample{training.status.incarnation, progress->percent, progress->last_updated};
  if (!first_ || sample.incarnation != first_->incarnation || sample.percent < first_->percent) {
    first_ = sample;
    rate_.reset();
    return;
  }
  const double minutes = std::chrono::duration<double, std::ratio<60>>(sample.at - first_->at).count();
  if (minutes <= 0 || sample.percent <= first_->percent) return;
  rate_ = (sample.percent - first_->percent) / 100 * static_cast<double>(*epochs) / minutes;
}

bool IsInOtherPhase(const api::Progress& progress) {
  return !progress.phase.empty() && progress.phase != api::kTrainingPhase;
}

std::string PercentText(double percent) { return FormatFixed(percent, 1) + " %"; }

std::string ProgressText(const api::DistTraining& training, WithBar with_bar, std::optional<double> epochs_per_minute,
                         kube::WallTime now) {
  const std::optional<api::Progress>& progress = training.status.progress;
  if (!progress) return "";
  std::string text;
  if (with_bar == WithBar::kYes) text += terminal::BarText(progress->percent / 100, kBarWidth) + " ";
  text += PercentText(progress->percent) + "  epoch " + std::to_string(progress->epoch);
  if (const auto epochs = FindEpochs(training)) text += " of " + std::to_string(*epochs);
  if (api::IsTerminal(training.status)) return text;
  const bool is_in_other_phase = IsInOtherPhase(*progress);
  if (is_in_other_phase) text += "  " + PhaseOfProgressText(*progress);
  if (progress->eta_seconds && *progress->eta_seconds > 0) {
    text += "  " + terminal::DurationText(static_cast<double>(*progress->eta_seconds)) + " left";
  }
  if (epochs_per_minute && !is_in_other_phase) text += "  " + FormatSignificant(*epochs_per_minute, 3) + " epochs/min";
  // Without lastUpdated the age is unknown: the client that wrote status.progress did not set it.
  if (progress->last_updated == kube::WallTime()) return text;
  return text + "  (" + AgeText(progress->last_updated, now) + " ago)";
}

std::string MetricsText(const api::Progress& progress) {
  std::string text;
  for (const auto& [name, value] : progress.metrics) {
    text += (text.empty() ? "" : "  ") + name + " " + FormatSignificant(value, 4);
  }
  return text;
}

std::string RolesText(const api::Status& status) {
  std::string text;
  for (const api::Role role : api::kRoles) {
    const auto found = status.replicas.find(api::ToString(role));
    if (found == status.replicas.end()) continue;
    text += (text.empty() ? "" : "  ") + found->first + " " + std::to_string(found->second.ready) + "/" +
            std::to_string(found->second.wanted);
    if (found->second.failed > 0) text += " (" + std::to_string(found->second.failed) + " failed)";
  }
  return text;
}

const api::Condition* LeadingCondition(const api::Status& status) {
  for (const char* type : {api::kFailed, api::kSucceeded}) {
    if (api::IsTrue(status, type)) return api::FindCondition(status, type);
  }
  const api::Condition* accepted = api::FindCondition(status, api::kAccepted);
  if (accepted != nullptr && accepted->status != api::ConditionStatus::kTrue) return accepted;
  for (const char* type : {api::kSuspended, api::kRestarting}) {
    if (api::IsTrue(status, type)) return api::FindCondition(status, type);
  }
  // The first stage that is not ready is the one that the job waits for.
  for (const char* type : {api::kPartitioned, api::kServersReady, api::kTrainersReady}) {
    const api::Condition* stage = api::FindCondition(status, type);
    if (stage != nullptr && stage->status != api::ConditionStatus::kTrue) return stage;
  }
  const api::Condition* training = api::FindCondition(status, api::kTrainersReady);
  return training != nullptr ? training : accepted;
}

}  // namespace espalier::ctl::view
