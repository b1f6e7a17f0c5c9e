// A generation is accepted after a server-side dry run of the objects that its templates would make. The dry run is an
// action of one plan, and its answer an input of the next. A new job waits for it. A job that has begun keeps running
// meanwhile, with changes blocked, and a refusal does not end it. Acceptance also resolves images (ResolveImages) and
// stores the script's digest if the document has one.
#include "operator/plan/acceptance.h"

#include <algorithm>

#include "operator/api/program_container.h"
#include "services/job/places.h"

namespace espalier::ctl::plan {
namespace {

using api::ConditionStatus;
using api::Role;
using Refusal = Observed::DryRun::Refusal;

constexpr std::chrono::seconds kTemplateRetryInterval{10};

bool WasAccepted(const api::Status& status) {
  const api::Condition* accepted = api::FindCondition(status, api::kAccepted);
  return accepted != nullptr && accepted->status == ConditionStatus::kTrue;
}

bool WasCurrentSpecAccepted(const api::DistTraining& training) {
  return WasAccepted(training.status) &&
         api::FindCondition(training.status, api::kAccepted)->observed_generation == training.meta.generation;
}

bool HasDryRun(const api::DistTraining& training, const Observed& seen) {
  return seen.dry_run && seen.dry_run->generation == training.meta.generation;
}

// Returns the image of a role for which the document names none. With device Auto, trainers that request no GPU use the
// CPU.
const std::string& DefaultImage(Role role, const job::DistTraining& job, const Defaults& defaults) {
  if (role != Role::kTrainer) return defaults.core_image;
  const bool may_use_cuda =
      job.trainer_device == job::Device::kCuda || (job.trainer_device == job::Device::kAuto && job.trainer_gpus > 0);
  return may_use_cuda && !defaults.trainer_cuda_image.empty() ? defaults.trainer_cuda_image : defaults.trainer_image;
}

// Returns whether `image` is one of the operator's two trainer images, and the job is suspended, so that the trainers'
// device may have changed.
bool MayMoveBetweenTrainerImages(const api::Spec& spec, const Defaults& defaults, const api::Status& status,
                                 const std::string& image) {
  if (image != defaults.trainer_image && image != defaults.trainer_cuda_image) return false;
  return spec.run_policy.suspend || api::IsTrue(status, api::kSuspended);
}

// Resolves each image once, so that an upgraded operator does not bring its own new images into a job that has begun.
// An image in the document replaces the resolved one. The API server allows changes of images and of the trainers'
// device only while the job is suspended.
void ResolveImages(const api::Spec& spec, const Defaults& defaults, api::Status* status) {
  for (const Role role : api::kRoles) {
    std::string& image = status->images[api::ToString(role)];
    const std::string& wanted = spec.role(role).image;
    if (!wanted.empty()) {
      image = wanted;
    } else if (image.empty() ||
               (role == Role::kTrainer && MayMoveBetweenTrainerImages(spec, defaults, *status, image))) {
      image = DefaultImage(role, spec.job, defaults);
    }
  }
}

// The script's init container uses the core image. If the document has a digest, even the first pod checks its script
// against it; otherwise the partitioner's pod reports the digest (partition_stage.cc).
void ResolveScript(const api::Spec& spec, const Defaults& defaults, api::Status* status) {
  if (!spec.job.program || !spec.job.program->script) return;
  const job::Script& script = *spec.job.program->script;
  std::string& image = status->images[api::kScriptContainer];
  if (image.empty()) image = defaults.core_image;
  if (script.sha256.empty() || status->script) return;
  status->script = api::ScriptStatus{.source = script.Describe(), .sha256 = script.sha256};
}

bool HasOtherImages(const api::Status& before, const api::Status& after) {
  return std::any_of(before.images.begin(), before.images.end(), [&](const auto& image) {
    const auto now = after.images.find(image.first);
    return !image.second.empty() && now != after.images.end() && now->second != image.second;
  });
}

bool RemovesSamplers(const PlanBuilder& builder) {
  const kube::StatefulSet* const samplers = builder.world().sampler_set();
  return samplers != nullptr && samplers->wanted > 0 && builder.spec().job.sampler_replicas == 0;
}

// Returns whether the job was suspended and resumed without a reconcile in between. Once a job has begun, the API
// server allows a change of images, or the removal of all samplers, only while the job is suspended. So such a change
// without an observed suspension shows that a suspension was missed. The operator then suspends and resumes the job
// itself. Otherwise pods would keep their old image until they are replaced one by one, and trainers would keep the
// names of samplers that no longer exist. Other changes that need a suspension (templates, variables) are not detected:
// they would show only as changed inputs of children (kInputsAnnotation), but an upgrade of the operator also changes
// these, and must not end running pods.
bool WasSuspendedUnseen(const PlanBuilder& builder) {
  const api::Status& before = builder.training().status;
  if (!before.started_at || builder.run_policy().suspend || api::IsTrue(before, api::kSuspended)) return false;
  return HasOtherImages(before, builder.status()) || RemovesSamplers(builder);
}

// Plans the dry run with names of Jobs that do not exist yet: the API server refuses a dry run on an existing Job,
// because a Job cannot be changed.
void PlanDryRun(PlanBuilder& builder) {
  resources::Context context = builder.context();
  ++context.status.partition_attempt;
  ++context.status.incarnation;
  ResolveImages(builder.spec(), builder.defaults(), &context.status);
  ResolveScript(builder.spec(), builder.defaults(), &context.status);
  if (context.status.trainer_replicas == 0) context.status.trainer_replicas = builder.spec().job.trainer_replicas;
  if (!context.status.partition) {
    context.status.partition =
        api::PartitionStatus{.hash = "dry-run",
                             .uri = job::UriBelow(resources::PartitionsPrefix(builder.training()), "dry-run"),
                             .cut = 0,
                             .bytes = 0};
  }
  DryRunTemplates templates;
  templates.children.push_back({&kube::kJobs, resources::PartitionJob(context)});
  templates.children.push_back({&kube::kStatefulSets, resources::ServerSet(context, 0, /*scaled_to_zero=*/false)});
  if (builder.spec().job.sampler_replicas > 0) {
    templates.children.push_back({&kube::kStatefulSets, resources::SamplerSet(context, /*scaled_to_zero=*/false)});
  }
  templates.children.push_back({&kube::kJobs, resources::TrainerJob(context)});
  builder.Add(std::move(templates));
  builder.RequeueAfter(std::chrono::nanoseconds(0));
}

// Returns whether the dry run was refused. For a job that has begun, kForbidden does not count as a refusal: a quota
// may be full only because it counts the objects that are about to be replaced. If it stays full, the refusal of the
// child itself is reported. An unreachable webhook or a taken name does count, because it would block the replacements
// too.
bool IsRefused(const api::DistTraining& training, const Observed::DryRun& dry_run) {
  const bool may_be_temporary = dry_run.refusal == Refusal::kForbidden && training.status.started_at;
  return dry_run.refusal != Refusal::kNone && !may_be_temporary;
}

const char* ToReason(Refusal refusal) {
  if (refusal == Refusal::kTemplate) return kInvalidTemplate;
  if (refusal == Refusal::kPodRules) return kNotAllowed;
  return refusal == Refusal::kName ? kNameTaken : kRefused;
}

}  // namespace

bool IsAccepted(const api::DistTraining& training, const Observed& seen) {
  if (!training.spec) return false;
  return WasCurrentSpecAccepted(training) || (HasDryRun(training, seen) && !IsRefused(training, *seen.dry_run));
}

bool AreTemplatesRefused(const api::DistTraining& training, const Observed& seen) {
  return HasDryRun(training, seen) && IsRefused(training, *seen.dry_run);
}

bool Accept(PlanBuilder& builder) {
  const api::DistTraining& training = builder.training();
  if (!training.spec) {
    builder.status().observed_generation = training.meta.generation;
    builder.SetCondition(api::kAccepted, ConditionStatus::kFalse, kInvalidSpec, training.violations);
    return false;
  }
  if (WasCurrentSpecAccepted(training)) return true;

  const bool has_begun = builder.status().started_at.has_value();
  if (!HasDryRun(training, builder.seen())) {
    PlanDryRun(builder);
    if (!has_begun) return false;  // the status does not cover this generation yet
    builder.BlockChanges();
    return true;
  }
  builder.status().observed_generation = training.meta.generation;
  const Observed::DryRun& dry_run = *builder.seen().dry_run;
  if (IsRefused(training, dry_run)) {
    const char* const reason = ToReason(dry_run.refusal);
    builder.SetCondition(api::kAccepted, ConditionStatus::kFalse, reason, dry_run.error);
    if (dry_run.is_due) PlanDryRun(builder);
    builder.RequeueAfter(kTemplateRetryInterval);
    builder.BlockChanges({.reason = reason, .message = dry_run.error});
    return has_begun;
  }
  ResolveImages(*training.spec, builder.defaults(), &builder.status());
  ResolveScript(*training.spec, builder.defaults(), &builder.status());
  builder.SetCondition(api::kAccepted, ConditionStatus::kTrue, kValid,
                       dry_run.error.empty()
                           ? "the document is valid and its templates are accepted"
                           : "the document is valid; its templates could not be checked: " + dry_run.error);
  if (WasSuspendedUnseen(builder)) {
    builder.SetCondition(api::kSuspended, ConditionStatus::kFalse, kSuspending,
                         "the operator did not observe that the job was suspended and resumed");
  }
  return true;
}

}  // namespace espalier::ctl::plan
