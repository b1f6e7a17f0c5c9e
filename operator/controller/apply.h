// Does what a plan says, in its order: the status first, then the actions up to the first error (a pod of a dead node
// whose deletion is refused keeps nothing else from being done, and is told at the end).
//
// Guarantees: nothing is created or deleted before the status that announces it is stored; an object that is not this
// job's is never changed; an object that is gone is not made again by an update; nothing is deleted on the word of a
// cache alone. Each write is noted for the stale guard. A child of the job's that no cache can show, for it has lost
// the labels by which they find it, gets them back when it is to be made.
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
  // Something was learned that the next plan should know: a dry run's answer, a refusal, a name that is taken.
  bool has_news = false;
  // The API server refused an action as it did before: what it takes to do it comes from outside, and wakes nobody.
  bool is_refused = false;
};

// Thread-safe. What is given outlives it.
class Applier {
 public:
  Applier(client::ApiClient& client, runtime::StaleGuard& guard, runtime::EventRecorder& events, JobMemory& memory,
          ControllerMetrics& metrics, std::string cluster_domain, PodPolicy pod_policy = {});

  // Aborted where the plan was made for a world that is not any more: read again. Refusals (403, 422, webhooks out of
  // reach) and names that are taken are kept in the memory for the next plan, and are no errors; others are as the API
  // server's.
  Result<Applied> Apply(const api::DistTraining& training, const plan::Plan& plan);

 private:
  struct Round;  // one plan, and what has come of it
  Status WriteStatus(const Round& round);
  Status DoAll(Round& round);
  Status Do(Round& round, const plan::ApplyChild& action);
  Status Do(Round& round, const plan::MakeAuthority& action);
  Status Do(Round& round, const plan::MakeLeaf& action);
  Status Do(Round& round, const plan::DeleteChild& action);
  Status Do(Round& round, const plan::DeleteSelf& action);
  Status Do(Round& round, const plan::WriteProgress& action);
  Status Do(Round& round, const plan::DryRunTemplates& action);
  Status IssueLeaf(Round& round, api::Role role);
  Status MakeOrChange(Round& round, const plan::ApplyChild& action);
  Status CreateChild(Round& round, const plan::ApplyChild& action, const kube::ObjectKey& key);
  Status TakeNote(Round& round, const kube::Resource& resource, const kube::Json& there);
  Status NoteLabelled(Round& round, const kube::Resource& resource, const kube::Json& there);
  Status ConfirmTraining(Round& round);
  void Note(const Round& round, const kube::Resource& resource, const kube::Json& written);

  client::ApiClient& client_;
  runtime::StaleGuard& guard_;
  runtime::EventRecorder& events_;
  JobMemory& memory_;
  ControllerMetrics& metrics_;
  const std::string cluster_domain_;
  const PodPolicy pod_policy_;
};

}  // namespace espalier::ctl::controller
