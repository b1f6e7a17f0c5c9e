// Carries out a plan: writes the status first, then runs the actions in order, up to the first error. Two errors do not
// stop the later actions: if the API server refuses the forced deletion of a pod on a lost node, this is reported at
// the end; if it permanently refuses the final progress, this is only logged.
//
// Guarantees: nothing is created or deleted before the status that announces it is stored; an object of another owner
// is never changed; an update never recreates an object that is gone; the DistTraining is read from the API server
// before a deletion. The stale guard records each write.
//
// Caches find children by their labels. If another writer has removed the labels of a child, the caches do not show the
// child, and the plan contains an action that creates it. Apply then restores the labels of the existing object instead
// of creating one.
#pragma once

#include <string>

#include "operator/client/api_client.h"
#include "operator/controller/job_memory.h"
#include "operator/controller/metrics.h"
#include "operator/controller/pod_policy.h"
#include "operator/plan/plan.h"
#include "operator/runtime/stale_guard.h"

namespace espalier::ctl::controller {

using plan::kFieldManager;

struct Applied {
  bool wrote_status = false;
  // The next plan needs a result of this call (a dry run, a refusal that is new or has ended, a taken name), so the
  // caller must requeue the job at once.
  bool requeue_now = false;
  // The API server refused an action, or an object of another owner has the name of a child. No watch reports when a
  // retry may succeed, so the caller must requeue the job.
  bool is_refused = false;
};

// Thread-safe. The arguments passed by reference must outlive it.
class Applier {
 public:
  Applier(client::ApiClient& client, runtime::StaleGuard& guard, runtime::EventRecorder& events, JobMemory& memory,
          ControllerMetrics& metrics, std::string cluster_domain, PodPolicy pod_policy = {});

  // Returns Aborted if the plan is out of date, because the DistTraining or a child has changed since it was read: the
  // caller must read both again and make a new plan. Refusals (403, 422, an unreachable webhook) and taken names are
  // not errors: JobMemory stores them for the next plan. Other errors are those of ApiClient.
  Result<Applied> Apply(const api::DistTraining& training, const plan::Plan& plan);

 private:
  struct Round;  // one call of Apply: the plan and the results so far
  Status WriteStatus(const Round& round);
  Status RunActions(Round& round);
  Status Run(Round& round, const plan::ApplyChild& action);
  Status Run(Round& round, const plan::MakeAuthority& action);
  Status Run(Round& round, const plan::MakeLeaf& action);
  Status Run(Round& round, const plan::DeleteChild& action);
  Status Run(Round& round, const plan::DeleteSelf& action);
  Status Run(Round& round, const plan::WriteProgress& action);
  Status Run(Round& round, const plan::DryRunTemplates& action);
  Status Run(Round& round, const plan::PatchWorkloadStatus& action);
  Status IssueLeaf(Round& round, api::Role role);
  Status CreateOrUpdate(Round& round, const plan::ApplyChild& action);
  Status CreateChild(Round& round, const plan::ApplyChild& action, const kube::ObjectKey& key);
  Status HandleExisting(Round& round, const kube::Resource& resource, const kube::Json& existing);
  Status RecordChild(Round& round, const kube::Resource& resource, const kube::Json& child);
  Status ConfirmTraining(Round& round);
  void RecordWrite(const Round& round, const kube::Resource& resource, const kube::Json& written);

  client::ApiClient& client_;
  runtime::StaleGuard& guard_;
  runtime::EventRecorder& events_;
  JobMemory& memory_;
  ControllerMetrics& metrics_;
  const std::string cluster_domain_;
  const PodPolicy pod_policy_;
};

}  // namespace espalier::ctl::controller
