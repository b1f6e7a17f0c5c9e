// WhatToDo checks the possible explanations of the job's state from the most to the least certain, and returns the
// first that applies: the job has succeeded, no operator handles it, a known reason (advice.h), a requested suspension,
// a queue, a failed pod. If none applies, it describes how long the job has trained or waited.
#include "operator/kubectl/view/what_to_do.h"

#include "operator/kubectl/view/advice.h"
#include "operator/kubectl/view/age.h"
#include "operator/kubectl/view/progress_text.h"
#include "operator/kubectl/view/status_text.h"
#include "operator/plan/failure.h"
#include "operator/plan/reasons.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::view {
namespace {

std::string Command(const api::DistTraining& training, const std::string& verb) {
  return "kubectl espalier " + verb + " " + training.meta.key.name + " -n " + training.meta.key.name_space;
}

std::string WhereToLook(const api::DistTraining& training) {
  return "Pods and events: kubectl get pods -n " + training.meta.key.name_space + " -l " + resources::kJobLabel + "=" +
         training.meta.key.name + "; logs: " + Command(training, "logs");
}

// Returns "" if espalier-operator handles the job, has written a status, and, unless the job has ended, has seen its
// current version.
std::string AdviceForMissingOperator(const api::DistTraining& training) {
  if (!api::IsManagedByEspalier(training.raw_spec)) {
    return "spec.runPolicy.managedBy leaves this job to " + api::EffectiveRunPolicy(training).managed_by +
           ": check whether that controller runs. espalier-operator does nothing for the job.";
  }
  const std::string where = "Check whether espalier-operator runs and watches namespace " +
                            training.meta.key.name_space + ": kubectl get pods -A -l app.kubernetes.io/name=espalier";
  if (training.status.conditions.empty()) return "No operator has written a status yet. " + where;
  if (training.status.observed_generation < training.meta.generation && !api::IsTerminal(training.status)) {
    return "The operator has not seen the latest change of the document yet. " + where;
  }
  return "";
}

std::string AdviceForTraining(const api::DistTraining& training, kube::WallTime now) {
  const std::optional<api::Progress>& progress = training.status.progress;
  const api::Condition* const ready = api::FindCondition(training.status, api::kTrainersReady);
  const bool updated_since_ready = progress && ready != nullptr && progress->last_updated >= ready->last_transition;
  if (updated_since_ready && now - progress->last_updated <= kFreshProgress) return "nothing: the job makes progress";
  const std::string since = AgeText(updated_since_ready ? progress->last_updated
                                    : ready == nullptr  ? now
                                                        : ready->last_transition,
                                    now);
  if (training.spec && training.spec->job.program) {
    return "The trainers have run for " + since + "; your program does not report its progress here. " +
           WhereToLook(training);
  }
  return "The trainers are ready and have reported no progress for " + since +
         ". If that lasts: " + WhereToLook(training);
}

// Returns "" if the job does not wait for Kueue.
std::string AdviceForQueuedJob(const api::Status& status) {
  const api::Condition* const quota = api::FindCondition(status, api::kQuotaReserved);
  if (!api::IsTrue(status, api::kSuspended) || quota == nullptr || quota->status == api::ConditionStatus::kTrue) {
    return "";
  }
  const bool is_queued = quota->reason == plan::kPending || quota->reason == plan::kEvicted;
  return (is_queued ? "nothing: the job waits in its queue (" : "The job cannot wait in its queue (") + quota->reason +
         "): " + quota->message;
}

std::string AdviceForWaitingJob(const api::DistTraining& training, kube::WallTime now) {
  const api::Condition* const leading = LeadingCondition(training.status);
  if (leading == nullptr) return WhereToLook(training);
  return "The job waits: " + leading->type + " is " + api::ToString(leading->status) + " (" + leading->reason +
         ") since " + AgeText(leading->last_transition, now) + ". If that lasts: " + WhereToLook(training);
}

std::string AdviceForReason(const api::DistTraining& training, const std::string& reason, const std::string& role,
                            const std::string& message) {
  const std::string advice = AdviceFor(reason, role, message);
  std::string text = advice.empty() ? "see the message above" : advice;
  const Result<std::string> outputs = OutputsUri(training);
  if (api::IsTerminal(training.status) && training.status.partition && outputs.ok()) {
    text += "\nThis job has ended. A new job can resume from its checkpoint: spec.checkpoint.resumeFrom: " + *outputs +
            "/checkpoints";
  }
  return text;
}

}  // namespace

std::string WhatToDo(const api::DistTraining& training, const std::optional<FailedPod>& failed, kube::WallTime now) {
  const api::Status& status = training.status;
  if (api::IsTrue(status, api::kSucceeded)) return "nothing: the job has succeeded";
  if (std::string text = AdviceForMissingOperator(training); !text.empty()) return text;
  const api::LastError error = status.last_error.value_or(api::LastError());
  if (const std::string reason = ReasonToActOn(status); !reason.empty()) {
    return AdviceForReason(training, reason, error.role, error.reason == reason ? error.message : "");
  }
  if (api::IsTrue(status, api::kSuspended) && api::EffectiveRunPolicy(training).suspend) {
    return "nothing: the job is suspended as spec.runPolicy.suspend says. Resume it: " + Command(training, "resume");
  }
  if (std::string text = AdviceForQueuedJob(status); !text.empty()) return text;
  if (failed) {
    if (const auto failure = plan::FindFailure(failed->member.pod)) {
      return AdviceForReason(training, failure->reason, api::ToString(failed->member.role), failure->message);
    }
  }
  return status.phase == api::Phase::kTraining ? AdviceForTraining(training, now) : AdviceForWaitingJob(training, now);
}

}  // namespace espalier::ctl::view
