#include "operator/kubectl/view/describe_text.h"

#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/view/advice.h"
#include "operator/kubectl/view/age.h"
#include "operator/kubectl/view/progress_text.h"
#include "operator/kubectl/view/status_text.h"
#include "operator/plan/termination_message.h"

namespace espalier::ctl::view {
namespace {

std::string PhaseText(const api::Status& status, kube::WallTime now) {
  std::string text = api::NameOf(status.phase);
  if (status.finished_at) text += ", since " + AgeText(*status.finished_at, now);
  return text;
}

const char* NameOf(kube::PodPhase phase) {
  switch (phase) {
    case kube::PodPhase::kPending: return "Pending";
    case kube::PodPhase::kRunning: return "Running";
    case kube::PodPhase::kSucceeded: return "Succeeded";
    case kube::PodPhase::kFailed: return "Failed";
    case kube::PodPhase::kUnknown: return "Unknown";
  }
  return "Unknown";
}

std::string EndText(const FailedPod& failed) {
  const kube::ContainerEnd& end = *failed.ended;
  std::string text = "container " + failed.container + " ended with exit code " + std::to_string(end.exit_code) + " (" +
                     ExitCodeText(end.exit_code) + ")";
  if (!end.reason.empty() && end.reason != "Error") text += ", " + end.reason;
  const std::optional<plan::Termination> said = plan::ParseTermination(end.message);
  const std::string message = said ? said->message : end.message;
  if (!message.empty()) text += "\nit said: " + message;
  return text;
}

std::string PodText(const FailedPod& failed) {
  const kube::Pod& pod = failed.member.pod;
  std::string text = pod.meta.key.name + " (" + LabelOf(failed.member) + "), " + NameOf(pod.phase);
  if (!pod.node.empty()) text += ", on node " + pod.node;
  for (const kube::ContainerState& container : pod.containers) {
    if (container.name == failed.container && container.restarts > 0) {
      text += ", restarted " + std::to_string(container.restarts) + " times";
    }
  }
  if (!pod.reason.empty()) text += "\n" + pod.reason;
  if (!pod.message.empty()) text += (pod.reason.empty() ? "\n" : ": ") + pod.message;
  if (!pod.unscheduled_reason.empty()) text += "\nnot scheduled: " + pod.unscheduled_reason;
  if (!failed.waiting.empty()) text += "\ncontainer " + failed.container + " waits: " + failed.waiting;
  if (failed.ended) text += "\n" + EndText(failed);
  return text;
}

std::string TailText(const LogTail& tail) {
  std::string text = "\n" + text::Printable(tail.title) + ":\n";
  if (!tail.problem.empty()) return text + "  (" + text::Printable(tail.problem) + ")\n";
  for (const std::string& line : tail.lines) {
    text += "  | " + text::Printable(line, text::Spacing::kKeepLinesTabs) + "\n";
  }
  return tail.lines.empty() ? text + "  (empty)\n" : text;
}

std::string GoneText(const api::LastError& error) {
  return error.pod +
         " is gone, and its log with it (spec.runPolicy.cleanPodPolicy: None keeps the pods of a job that "
         "has ended)";
}

std::string WhatToDo(const api::DistTraining& training) {
  const api::Status& status = training.status;
  const std::string reason = ReasonToActOn(status);
  if (reason.empty()) return "nothing: nothing is wrong";
  const std::string advice = AdviceFor(reason, status.last_error ? status.last_error->role : "");
  std::string text = advice.empty() ? "see the message above" : advice;
  const Result<std::string> outputs = OutputsUri(training);
  if (api::IsTerminal(status) && status.partition && outputs.ok()) {
    text +=
        "\nThis job has ended. A new one may go on from what it has saved: spec.checkpoint.resumeFrom: " + *outputs +
        "/checkpoints";
  }
  return text;
}

}  // namespace

std::string DescribeText(const Explanation& explanation, kube::WallTime now) {
  const api::DistTraining& training = explanation.training;
  const api::Status& status = training.status;
  std::string text = Field("Job", kube::ToString(training.meta.key)) + Field("Phase", PhaseText(status, now));
  if (const api::Condition* leading = LeadingCondition(status)) {
    text += Field("Condition", leading->type + "=" + api::NameOf(leading->status) + ", " + leading->reason +
                                   ", since " + AgeText(leading->last_transition, now) + "\n" + leading->message);
  }
  if (!training.spec) text += Field("Spec", "not valid, as this program knows it:\n" + training.violations);
  const std::string progress = ProgressText(training, WithBar::kNo, std::nullopt, now);
  if (!progress.empty()) text += Field("Progress", progress);
  text += Field("Attempts", AttemptsText(training));
  if (status.last_error) text += Field("Last error", LastErrorText(*status.last_error));
  if (explanation.failed) {
    text += Field("Pod", PodText(*explanation.failed));
  } else if (status.last_error && !status.last_error->pod.empty()) {
    text += Field("Pod", GoneText(*status.last_error));
  }
  for (const LogTail& tail : explanation.tails) text += TailText(tail);
  if (!explanation.warnings.empty()) text += "\nWarnings:\n" + EventTable(explanation.warnings, 2, now);
  return text + "\n" + Field("What to do", WhatToDo(training));
}

}  // namespace espalier::ctl::view
