// Each action is one or more requests with preconditions. The uid in an applied object makes the update fail with a
// conflict if the child was deleted. The resourceVersion in the status write makes it fail if the DistTraining has
// changed since it was read. The uid in a deletion protects a new object of the same name. Before the first deletion of
// a plan, the DistTraining is read from the API server, because a cache may be minutes behind. Refusals (403, 422, an
// unreachable webhook, a taken name) are stored in JobMemory for the next plan.
#include "operator/controller/apply.h"

#include <utility>
#include <variant>

#include "operator/controller/dry_run.h"
#include "operator/controller/job_certificates.h"
#include "operator/controller/write_progress.h"
#include "operator/kube/api_error.h"
#include "operator/kube/workload.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::controller {
namespace {

// The first plan after this time checks a refused template again, because quotas and admission rules change without a
// change of the document. The requeue interval (kTemplateRetryInterval) is a little longer.
constexpr std::chrono::seconds kRefusalLifetime{8};

kube::ApplyOptions MakeForcedApplyOptions() {
  kube::ApplyOptions options;
  options.field_manager = kFieldManager;
  return options;
}

std::string Describe(const kube::Resource& resource, const kube::ObjectKey& key) {
  return std::string(resource.kind) + " " + key.name;
}

// Returns the reason of a refusal, or "" for other errors. AlreadyExists comes from HandleExisting or the functions of
// job_certificates.h: an object of another owner has the name.
std::string RefusalReason(const Status& status) {
  if (kube::IsWebhookUnreachable(status)) return "WebhookOutOfReach";
  const StatusCode code = status.code();
  if (code == StatusCode::kPermissionDenied) return "Forbidden";
  if (code == StatusCode::kAlreadyExists) return "NameTaken";
  return code == StatusCode::kInvalidArgument ? "Invalid" : "";
}

// Returns whether the object is a trainer Job that is complete or is about to be. The caches might not show this yet.
bool HasTrained(const kube::Json& object) {
  const Result<kube::Job> job = kube::ParseJob(object);
  if (!job.ok() || !(job->complete || job->success_criteria_met)) return false;
  const auto component = job->meta.labels.find(resources::kComponentLabel);
  return component != job->meta.labels.end() && component->second == api::ToString(api::Role::kTrainer);
}

// Returns the labels that `child` lacks or has with another value. Checks the label managed-by, by which watches find
// children, and the label job, by which caches find them.
kube::Json FindMissingLabels(const kube::ObjectMeta& child, const api::DistTraining& training) {
  const resources::Labels wanted = resources::MakeSelector(training);
  kube::Json missing = kube::Json::object();
  for (const char* label : {resources::kManagedByLabel, resources::kJobLabel}) {
    const auto has = child.labels.find(label);
    if (has == child.labels.end() || has->second != wanted.at(label)) missing[label] = wanted.at(label);
  }
  return missing;
}

}  // namespace

struct Applier::Round {
  const api::DistTraining& training;
  const plan::Plan& plan;
  std::string live_resource_version = {};              // of the training; empty: ConfirmTraining has not read it yet
  std::string subject = {};                            // object of the current action: "Job cora-partition-1"
  std::optional<resources::Authority> authority = {};  // with its private key, in memory only during this round
  Applied applied = {};

  const kube::ObjectKey& job() const { return training.meta.key; }
  resources::Context ContextWith(const std::string& cluster_domain) const {
    return resources::Context{training, plan.status, cluster_domain};
  }
};

Applier::Applier(client::ApiClient& client, runtime::StaleGuard& guard, runtime::EventRecorder& events,
                 JobMemory& memory, ControllerMetrics& metrics, std::string cluster_domain, PodPolicy pod_policy)
    : client_(client),
      guard_(guard),
      events_(events),
      memory_(memory),
      metrics_(metrics),
      cluster_domain_(std::move(cluster_domain)),
      pod_policy_(std::move(pod_policy)) {}

Result<Applied> Applier::Apply(const api::DistTraining& training, const plan::Plan& plan) {
  Round round{.training = training, .plan = plan};
  if (api::ToJson(plan.status) != api::ToJson(training.status)) {
    RETURN_IF_ERROR(WriteStatus(round).While("writing the status"));
    round.applied.wrote_status = true;
  }
  for (const runtime::EventNote& event : plan.events) events_.Record(kube::kDistTrainings, training.meta, event);

  const Status status = RunActions(round);
  const std::string reason = RefusalReason(status);
  if (!status.ok() && reason.empty()) return status;
  std::optional<plan::Observed::Refusal> refusal;
  if (!status.ok()) refusal = {round.subject, reason, status.message()};
  round.applied.is_refused = refusal.has_value();
  if (memory_.RememberRefusal(round.job(), training.meta.uid, std::move(refusal))) {
    round.applied.requeue_now = true;
    // No condition of a suspended or ended job shows the refusal, so it is logged.
    if (!status.ok()) {
      telemetry::Log(telemetry::Level::kWarning, "an action was refused and is retried every 10 s",
                     {{"job", kube::ToString(round.job())}, {"child", round.subject}, {"error", status}});
    }
  }
  return round.applied;
}

Status Applier::RunActions(Round& round) {
  Status refusal;
  std::string refused_subject;
  for (const plan::Action& action : round.plan.actions) {
    Status done = std::visit([&](const auto& one) { return Run(round, one); }, action);
    if (done.ok()) continue;
    // A forced deletion removes a pod on a lost node. No other action depends on it, so the round continues after its
    // refusal.
    const auto* const deletion = std::get_if<plan::DeleteChild>(&action);
    if (deletion == nullptr || !deletion->force || RefusalReason(done).empty()) return done;
    if (!refusal.ok()) continue;
    refusal = std::move(done);
    refused_subject = round.subject;
  }
  round.subject = std::move(refused_subject);
  return refusal;
}

Status Applier::WriteStatus(const Round& round) {
  const kube::ObjectMeta& meta = round.training.meta;
  const kube::Json object = {{"apiVersion", kube::kDistTrainings.api_version()},
                             {"kind", kube::kDistTrainings.kind},
                             {"metadata",
                              {{"name", meta.key.name},
                               {"namespace", meta.key.name_space},
                               {"uid", meta.uid},
                               {"resourceVersion", meta.resource_version}}},
                             {"status", api::ToJson(round.plan.status)}};
  ASSIGN_OR_RETURN(const kube::Json written,
                   client_.ApplyStatus(kube::kDistTrainings, object, MakeForcedApplyOptions()));
  RecordWrite(round, kube::kDistTrainings, written);
  metrics_.OnStatus(round.training.status, round.plan.status);
  return Status();
}

void Applier::RecordWrite(const Round& round, const kube::Resource& resource, const kube::Json& written) {
  guard_.Wrote(round.job(), resource, kube::StringAt(written, {"metadata", "resourceVersion"}));
}

// A refusal that names the Pod template is reported with the path in the user's document.
Status Applier::Run(Round& round, const plan::ApplyChild& action) {
  const Status done = CreateOrUpdate(round, action);
  const bool names_template =
      done.code() == StatusCode::kInvalidArgument && done.message().find("spec.template") != std::string::npos;
  if (!names_template) return done;
  return Status(done.code(), TranslateToDocument(action.object, round.training, done.message()));
}

Status Applier::CreateOrUpdate(Round& round, const plan::ApplyChild& action) {
  const kube::ObjectKey key{round.job().name_space, kube::StringAt(action.object, {"metadata", "name"})};
  round.subject = Describe(*action.resource, key);
  if (action.uid.empty()) return CreateChild(round, action, key);
  // If the object is gone, the uid makes the apply fail with a conflict; otherwise it would create a new object.
  ASSIGN_OR_RETURN(const kube::Json written, client_.Apply(*action.resource, action.object, MakeForcedApplyOptions()));
  RecordWrite(round, *action.resource, written);
  return Status();
}

// Creates a child, usually by POST, which fails if an object of that name exists. A server-side apply would silently
// take over an object of the user, which no cache shows because it lacks the operator's label. A disadvantage of POST
// is that later applies do not remove fields that it wrote. This matters only for StatefulSets and Workloads, the only
// kinds whose templates change: children of these two kinds are created by a server-side apply, after a GET has shown
// that the name is free.
Status Applier::CreateChild(Round& round, const plan::ApplyChild& action, const kube::ObjectKey& key) {
  const bool uses_apply = *action.resource == kube::kStatefulSets || *action.resource == kube::kWorkloads;
  if (uses_apply) {
    const Result<kube::Json> existing = client_.Get(*action.resource, key);
    if (existing.ok()) return HandleExisting(round, *action.resource, *existing);
    if (existing.status().code() != StatusCode::kNotFound) return existing.status();
  }
  const Result<kube::Json> written = uses_apply
                                         ? client_.Apply(*action.resource, action.object, MakeForcedApplyOptions())
                                         : client_.Create(*action.resource, action.object);
  if (written.ok()) return RecordChild(round, *action.resource, *written);
  if (written.status().code() != StatusCode::kAlreadyExists) return written.status();
  ASSIGN_OR_RETURN(const kube::Json existing, client_.Get(*action.resource, key));
  return HandleExisting(round, *action.resource, existing);
}

// Handles an object that exists although no cache shows it. If it is this job's (the response to its creation was lost,
// or its labels were removed), it is recorded like a new child. If it has another owner, it is not changed, and the
// next plan waits until the name is free.
Status Applier::HandleExisting(Round& round, const kube::Resource& resource, const kube::Json& existing) {
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta, kube::ParseObjectMeta(existing));
  if (plan::IsOurs(meta, round.training)) return RecordChild(round, resource, existing);
  memory_.RememberTakenName(round.job(), round.training.meta.uid,
                            {kube::FindResource(resource.api_version(), resource.kind), meta.key.name});
  return AlreadyExists(round.subject + " exists and is not this job's");
}

// Records the write of the child, so that the stale guard waits until the cache shows it. First restores labels that
// the child lacks. Another writer may have removed them, for example a policy engine that sets its own managed-by
// label on all objects; a watch then reports the child as deleted and never reports it again. A merge patch with
// resourceVersion changes only the labels, because most other fields of a Job are immutable.
Status Applier::RecordChild(Round& round, const kube::Resource& resource, const kube::Json& child) {
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta, kube::ParseObjectMeta(child));
  const kube::Json missing = FindMissingLabels(meta, round.training);
  if (missing.empty()) {
    RecordWrite(round, resource, child);
    return Status();
  }
  const kube::Json patch = {{"metadata", {{"resourceVersion", meta.resource_version}, {"labels", missing}}}};
  ASSIGN_OR_RETURN(const kube::Json labeled, client_.MergePatch(resource, meta.key, patch));
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta_now, kube::ParseObjectMeta(labeled));
  const kube::Json still_missing = FindMissingLabels(meta_now, round.training);
  if (!still_missing.empty()) {
    return Status(StatusCode::kPermissionDenied,
                  "its label " + still_missing.begin().key() + " is removed by another client of the cluster");
  }
  RecordWrite(round, resource, labeled);
  return Status();
}

// The actions MakeAuthority and MakeLeaf store the facts about the Secret in memory_, so that it need not be read
// again, and remove the facts if the write failed.
Status Applier::Run(Round& round, const plan::MakeAuthority&) {
  round.subject = Describe(kube::kSecrets, {"", resources::AuthoritySecretName(round.job().name)});
  memory_.ForgetCertificates(round.job());
  Result<kube::Json> made = MakeAuthority(client_, round.ContextWith(cluster_domain_));
  RETURN_IF_ERROR(made.status().While("making the certificate authority"));
  ASSIGN_OR_RETURN(round.authority, resources::ReadAuthoritySecret(*made));
  Certificates certificates;
  certificates.authority = round.authority->facts;
  memory_.RememberCertificates(round.job(), round.training.meta.uid, std::move(certificates), kCertificatesLifetime);
  return Status();
}

Status Applier::Run(Round& round, const plan::MakeLeaf& action) {
  round.subject = Describe(kube::kSecrets, {"", resources::TlsSecretName(round.job().name, action.role)});
  const Status made = IssueLeaf(round, action.role);
  if (!made.ok()) memory_.ForgetCertificates(round.job());
  return made.While(std::string("making the certificate of the role ") + api::ToString(action.role));
}

Status Applier::IssueLeaf(Round& round, api::Role role) {
  const resources::Context context = round.ContextWith(cluster_domain_);
  if (!round.authority) {
    ASSIGN_OR_RETURN(const kube::Json secret, ReadAuthority(client_, context));
    ASSIGN_OR_RETURN(round.authority, resources::ReadAuthoritySecret(secret));
  }
  ASSIGN_OR_RETURN(const resources::CertificateFacts facts, MakeLeaf(client_, context, role, *round.authority));
  memory_.RememberLeaf(round.job(), round.training.meta.uid, role, facts);
  return Status();
}

// Reads the DistTraining from the API server before the first deletion of a plan. Returns Aborted if it is gone or its
// generation has changed since the plan was made: the cache may be minutes behind, and the new document may need a
// child that the plan deletes.
Status Applier::ConfirmTraining(Round& round) {
  if (!round.live_resource_version.empty()) return Status();
  const kube::ObjectMeta& meta = round.training.meta;
  const Result<kube::Json> live = client_.Get(kube::kDistTrainings, meta.key);
  if (live.status().code() == StatusCode::kNotFound) return Aborted("the DistTraining was deleted");
  if (!live.ok()) return live.status();
  ASSIGN_OR_RETURN(const kube::ObjectMeta now, kube::ParseObjectMeta(*live));
  if (now.uid != meta.uid) return Aborted("the DistTraining was replaced by another one");
  if (now.generation != meta.generation) return Aborted("the DistTraining has changed since it was read");
  round.live_resource_version = now.resource_version;
  return Status();
}

Status Applier::Run(Round& round, const plan::DeleteChild& action) {
  round.subject = Describe(*action.resource, action.key);
  RETURN_IF_ERROR(ConfirmTraining(round));
  const Result<kube::Json> live = client_.Get(*action.resource, action.key);
  if (live.status().code() == StatusCode::kNotFound) return Status();
  if (!live.ok()) return live.status();
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta, kube::ParseObjectMeta(*live));
  if (meta.uid != action.uid) return Aborted(round.subject + " was replaced by another one");
  if (HasTrained(*live) && !api::IsTerminal(round.plan.status)) {
    return Aborted(round.subject + " has succeeded in the meantime");
  }
  kube::DeleteOptions options;
  options.uid = action.uid;
  options.propagation = action.propagation;
  if (action.grace) options.grace_period_seconds = action.grace->count();
  if (action.force) options.grace_period_seconds = 0;
  return client_.Delete(*action.resource, action.key, options);
}

Status Applier::Run(Round& round, const plan::DeleteSelf&) {
  round.subject = Describe(kube::kDistTrainings, round.job());
  RETURN_IF_ERROR(ConfirmTraining(round));
  kube::DeleteOptions options;
  options.uid = round.training.meta.uid;
  options.resource_version = round.live_resource_version;
  return client_.Delete(kube::kDistTrainings, round.training.meta.key, options);
}

Status Applier::Run(Round& round, const plan::WriteProgress& action) {
  round.subject = Describe(kube::kDistTrainings, round.job());
  const kube::ObjectMeta& meta = round.training.meta;
  const Result<kube::Json> written = WriteProgress(client_, meta, action.progress, /*based_on=*/"");
  if (written.ok()) {
    RecordWrite(round, kube::kDistTrainings, *written);
    return Status();
  }
  // Errors that may be temporary are returned, so that the write is retried. A permanent refusal is only logged,
  // because it must not prevent the deletion of the pods.
  const bool may_be_temporary = RefusalReason(written.status()).empty() || kube::IsWebhookUnreachable(written.status());
  if (may_be_temporary) return written.status().While("writing the final progress");
  telemetry::Log(telemetry::Level::kWarning, "the API server refused the final progress",
                 {{"job", kube::ToString(meta.key)}, {"error", written.status()}});
  return Status();
}

Status Applier::Run(Round& round, const plan::DryRunTemplates& action) {
  round.subject = Describe(kube::kDistTrainings, round.job());
  const kube::ObjectMeta& meta = round.training.meta;
  ASSIGN_OR_RETURN(plan::Observed::DryRun answer, DryRun(client_, action, round.training, kFieldManager, pod_policy_));
  std::optional<std::chrono::seconds> lifetime;
  if (answer.refusal != plan::Observed::DryRun::Refusal::kNone) lifetime = kRefusalLifetime;
  memory_.RememberDryRun(meta.key, meta.uid, std::move(answer), lifetime);
  round.applied.requeue_now = true;
  return Status();
}

// The patch contains the resourceVersion that it was made for, because it replaces lists that Kueue also writes.
Status Applier::Run(Round& round, const plan::PatchWorkloadStatus& action) {
  round.subject = Describe(kube::kWorkloads, action.key);
  const Result<kube::Json> written = client_.MergePatchStatus(kube::kWorkloads, action.key, action.patch);
  if (written.status().code() == StatusCode::kNotFound) return Status();  // the watch reports the deletion
  if (!written.ok()) return written.status();
  RecordWrite(round, kube::kWorkloads, *written);
  return Status();
}

}  // namespace espalier::ctl::controller
