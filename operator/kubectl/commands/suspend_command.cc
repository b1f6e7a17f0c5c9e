#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"

namespace espalier::ctl::kubectl {

Result<int> SuspendOrResume(SuspendAction action, const std::string& name, const CommandContext& context) {
  ASSIGN_OR_RETURN(const api::DistTraining job, ReadJob(context, name));
  const bool suspend = action == SuspendAction::kSuspend;
  const std::string what = suspend ? "suspended" : "resumed";
  if (api::IsTerminal(job.status)) {
    return FailedPrecondition(kube::ToString(job.meta.key) + " has ended (" + api::ToString(job.status.phase) +
                              "): it cannot be " + what);
  }
  // With the uid, the patch fails instead of changing a new job of the same name.
  const kube::Json patch = {{"metadata", {{"uid", job.meta.uid}}}, {"spec", {{"runPolicy", {{"suspend", suspend}}}}}};
  RETURN_IF_ERROR(context.api.MergePatch(kube::kDistTrainings, job.meta.key, patch).status());
  context.note(kube::ToString(job.meta.key) + " is being " + what +
               (suspend ? ": trainers write a checkpoint, then the pods are deleted" : " from its newest checkpoint"));
  return 0;
}

}  // namespace espalier::ctl::kubectl
