// A table maps reasons (plan/reasons.h, telemetry::TerminationReason) to advice. Certificate problems share a reason
// with wrong storage credentials, so they are recognized by their message before the table is used.
#include "operator/kubectl/view/advice.h"

#include <csignal>
#include <cstring>
#include <map>

#include "operator/kubectl/view/job_pod.h"
#include "operator/kubectl/view/progress_text.h"
#include "operator/plan/failure.h"
#include "operator/plan/reasons.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::view {
namespace {

constexpr int kSignalBase = 128;

constexpr char kAboutCertificates[] =
    "Check the certificate that the message names: it has expired, or another CA signed it, or it belongs to another "
    "job. With spec.tls.mode: Managed the operator replaces the job's certificates by itself (if it cannot, its log "
    "says why); with SecretRef renew the certificates in the Secret of spec.tls.secretName.";

// "<role>" is replaced by the role's field of the document.
const std::map<std::string, std::string>& AdviceByReason() {
  static const auto* const advice = new std::map<std::string, std::string>{
      {plan::kInvalidSpec, "Correct the fields that the message names and apply the document again."},
      {plan::kInvalidTemplate, "Correct spec.<role>.template: the API server refuses the resulting pod."},
      {plan::kNotAllowed,
       "Set the fields that the message names to values that the cluster's administrator allows, or ask the "
       "administrator to allow more (the operator's --allowed-service-accounts, --allowed-images, --secret-label, "
       "--allowed-scripts, --script-endpoint)."},
      {plan::kSecretMissing, "Create the Secret in the job's namespace; the job then continues."},
      {plan::kSecretKeyMissing, "Add the key to the Secret; the job then continues."},
      {plan::kFailedMount,
       "Create the volume, Secret or ConfigMap that spec.<role>.template mounts; the operator retries."},
      {plan::kNameTaken, "Delete or rename the object that has the name, or give the job another name."},
      {plan::kRefused,
       "Correct the refused object, or ask the cluster's administrator to change its policies; the operator retries."},
      {plan::kFailedCreate, "Raise the quota or correct the policy that the message names; the operator retries."},
      {plan::kPodGroupsUnavailable,
       "Ask the cluster's administrator to let the operator list PodGroups (gangScheduling.enabled of the chart), or "
       "set "
       "spec.scheduling.gang to Never."},
      {plan::kUnschedulable,
       "Add suitable nodes, or lower spec.<role>.resources.requests; correct nodeSelector and tolerations."},
      {plan::kImagePull,
       "Correct spec.<role>.image or the pull secret, or push the image to a registry that nodes can reach."},
      {plan::kContainerConfig, "Correct what the message names: the Secret or ConfigMap, its key, or spec.<role>.env."},
      {plan::kContainerCreation, "See the message: the node cannot create the container of spec.<role>."},
      {plan::kCrashLoop, "Read the log that the container wrote before its last restart."},
      {plan::kOutOfMemory,
       "Raise spec.<role>.resources.limits.memory. You can change it while the job is suspended; suspending saves a "
       "checkpoint."},
      {plan::kSignal, "Read the last lines of the log: the process crashed, or was killed on the node."},
      {plan::kDisrupted, "Nothing: evicted or preempted pods are created again, and the failure is not counted."},
      {plan::kNodeLost, "Nothing: the pods are created again on other nodes. Check whether the node recovers."},
      {plan::kServerLost, "Nothing: trainers resume from their checkpoint, and the failure is not counted."},
      {plan::kHeldBack, "Fix what the message names: it kept trainers from starting. The failure is not counted."},
      {plan::kCertificatesReplaced,
       "Nothing: the operator has replaced the certificates, and the failure is not counted."},
      {plan::kStoppedSoon,
       "Nothing: the program has requested a retry. If the next restart has the same reason, it is counted."},
      {plan::kStoppedAgain, "Read in the program's log why it ends with 75 (retry later) soon after each start."},
      {plan::kHeldByContainers,
       "Nothing: a program has failed while another container of its pod still runs. The operator deletes the pod, "
       "which gives that container 30 s to end. A sidecar that ends on SIGTERM, or a native one (an init container "
       "with restartPolicy: Always), makes the restart quicker."},
      {plan::kSidecarFailed,
       "The exit code of the container that the message names made the Job fail before all programs had ended. Make "
       "the container end with 0, or turn it into a native sidecar (an init container with restartPolicy: Always)."},
      {plan::kJobSuspended,
       "Set spec.suspend of the Job that the message names to false, and stop the field manager in the message from "
       "setting it again. Kueue suspends Jobs without a queue if manageJobsWithoutQueueName is set (exclude the "
       "namespace with managedJobsNamespaceSelector, or turn that off) or if the namespace has a LocalQueue named "
       "default (use another name). To suspend the whole job: kubectl espalier suspend."},
      {plan::kPodRejected, "See why the node refuses the pod: the message is the kubelet's."},
      {plan::kScriptChanged,
       "Restore the script whose digest is status.script.sha256 before the restarts reach runPolicy.backoffLimit, or "
       "suspend the job until the script is restored. To run the new script, start a new job."},
      {plan::kOtherExit,
       "Read the last lines of the log: the container's program ended with a code that Espalier does not use."},
      {plan::kResultLost, "Nothing: the partitioner runs again, and finds its partitions."},
      {plan::kNoEvidence,
       "See the events and the job's remaining pods: the failed pod was deleted. cleanPodPolicy: None keeps pods."},
      {plan::kDeadlineExceeded,
       "Create a job with more time (spec.runPolicy.activeDeadlineSeconds) or more resources."},
      {telemetry::TerminationReason(ExitCode::kBadDocument),
       "Correct the document as described in the message and create the job again: the same document fails again."},
      {telemetry::TerminationReason(ExitCode::kBadInput),
       "Correct the graph, partitions or model that the message names: the same input fails again."},
      {telemetry::TerminationReason(ExitCode::kBug), "This is a bug: please report it with the log."},
      {telemetry::TerminationReason(ExitCode::kUnavailable),
       "See whether the object storage and the other pods can be reached from spec.<role>'s pods."},
      {telemetry::TerminationReason(ExitCode::kBadCredentials),
       "See whether the Secret of spec.storage.s3.credentials, or the pods' account, may read and write what the "
       "message names."},
      {telemetry::TerminationReason(ExitCode::kAskedToStop),
       "Nothing: the process was asked to stop, and the job resumes."},
  };
  return *advice;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string SignalText(int signal) {
  const char* name = sigabbrev_np(signal);
  return "killed by signal " + std::to_string(signal) + (name == nullptr ? "" : std::string(" (SIG") + name + ")");
}

}  // namespace

std::string ExitCodeText(int code) {
  if (code > kSignalBase && code < kSignalBase + NSIG) return SignalText(code - kSignalBase);
  if (const char* meaning = MeaningOfExitCode(code); meaning != nullptr) return meaning;
  return "not one of Espalier's exit codes";
}

std::string ReasonToActOn(const api::Status& status) {
  const api::Condition* const leading = LeadingCondition(status);
  const bool failed_too_often = leading != nullptr && leading->reason == plan::kBackoffLimitExceeded;
  const bool is_settled = leading != nullptr && api::IsTerminal(status) && !failed_too_often;
  if (is_settled) return leading->type == api::kFailed ? leading->reason : "";
  if (status.last_error) return status.last_error->reason;
  return leading != nullptr && !AdviceFor(leading->reason, "").empty() ? leading->reason : "";
}

std::string AdviceFor(const std::string& reason, const std::string& role, const std::string& message) {
  if (plan::IsAboutCertificates(reason, message)) return kAboutCertificates;
  const auto found = AdviceByReason().find(reason);
  if (found == AdviceByReason().end()) return "";
  const Result<api::Role> known = ParseRole(role);
  return Replaced(found->second, "<role>", known.ok() ? api::FieldName(*known) : "<role>");
}

}  // namespace espalier::ctl::view
