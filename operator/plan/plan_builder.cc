// The builder starts from the stored status and collects actions. Apply compares the inputs hash in a child's
// annotation with that of the wanted object and plans a change only if they differ, so an unchanged child costs no
// request. Finish puts the write of the final progress first, then deletions, then all other actions.
#include "operator/plan/plan_builder.h"

#include <algorithm>
#include <utility>

#include "operator/resources/labels.h"
#include "services/base/check.h"

namespace espalier::ctl::plan {
namespace {

constexpr std::chrono::seconds kRecheckInterval{10};
// The longest delay until the next reconcile. It limits the delay after the clock was set back, and the time for which
// the work queue holds the key of a deleted job.
constexpr std::chrono::hours kMaxRequeueDelay{1};

std::string FindInputs(const kube::Json& object) {
  return kube::StringAt(object, {"metadata", "annotations", resources::kInputsAnnotation});
}

bool IsMadeFrom(const kube::ObjectMeta& meta, const std::string& inputs) {
  const auto found = meta.annotations.find(resources::kInputsAnnotation);
  return found != meta.annotations.end() && found->second == inputs;
}

}  // namespace

PlanBuilder::PlanBuilder(const api::DistTraining& training, const Observed& seen, const World& world,
                         const Defaults& defaults, kube::WallTime now)
    : training_(training),
      seen_(seen),
      world_(world),
      defaults_(defaults),
      now_(now),
      run_policy_(api::EffectiveRunPolicy(training)) {
  plan_.status = training.status;
}

const api::Spec& PlanBuilder::spec() const {
  ESPALIER_CHECK(training_.spec.has_value()) << "a stage that needs a valid spec was run without one";
  return *training_.spec;
}

kube::WallTime PlanBuilder::stamp() const { return std::chrono::floor<std::chrono::seconds>(now_); }

resources::Context PlanBuilder::context() const {
  return {.training = training_,
          .status = plan_.status,
          .cluster_domain = defaults_.cluster_domain,
          .image_pull = defaults_.image_pull,
          .gpu_resource = defaults_.gpu_resource,
          .defaults = &defaults_.job_defaults,
          .placements = placements_,
          .gangs = gangs_};
}

void PlanBuilder::SetCondition(const char* type, api::ConditionStatus status, const std::string& reason,
                               const std::string& message) {
  api::SetCondition(&plan_.status,
                    {.type = type,
                     .status = status,
                     .reason = reason,
                     .message = message,
                     .observed_generation = training_.meta.generation},
                    stamp());
}

void PlanBuilder::ClearCondition(const char* type, const std::string& reason, const std::string& message) {
  if (api::FindCondition(plan_.status, type) != nullptr)
    SetCondition(type, api::ConditionStatus::kFalse, reason, message);
}

bool PlanBuilder::Apply(const kube::Resource& resource, kube::Json object) {
  const kube::ObjectMeta* existing = world_.Find(resource, kube::StringAt(object, {"metadata", "name"}));
  if (existing != nullptr && IsMadeFrom(*existing, FindInputs(object))) return true;
  return ApplyAgain(resource, std::move(object));
}

bool PlanBuilder::Apply(const kube::Resource& resource, const std::string& name, const std::string& inputs,
                        const std::function<kube::Json()>& build) {
  const kube::ObjectMeta* existing = world_.Find(resource, name);
  if (existing != nullptr && IsMadeFrom(*existing, inputs)) return true;
  return ApplyAgain(resource, build());
}

bool PlanBuilder::ApplyAgain(const kube::Resource& resource, kube::Json object) {
  const std::string name = kube::StringAt(object, {"metadata", "name"});
  if (world_.IsTaken(resource, name)) {
    BlockChanges({.reason = kNameTaken,
                  .message = std::string(resource.kind) + " " + name + " exists and does not belong to this job"});
    RequeueAfter(kRecheckInterval);  // no watch reports when the name is free: the object lacks our label
    return false;
  }
  const kube::ObjectMeta* existing = world_.Find(resource, name);
  if (!may_apply_) return existing != nullptr;
  // A child that is being deleted is created again once it is gone. A change to it now would be lost.
  if (existing != nullptr && existing->deletion_requested_at) return false;
  if (existing != nullptr) object["metadata"]["uid"] = existing->uid;
  Add(ApplyChild{&resource, std::move(object), existing != nullptr ? existing->uid : std::string()});
  return true;
}

void PlanBuilder::Delete(const kube::Resource& resource, const kube::ObjectMeta& meta, kube::Propagation propagation) {
  if (meta.deletion_requested_at) return;
  Add(DeleteChild{&resource, meta.key, meta.uid, /*force=*/false, propagation});
}

void PlanBuilder::AddEvent(runtime::EventType type, const std::string& reason, const std::string& action,
                           const std::string& note) {
  plan_.events.push_back({.type = type, .reason = reason, .action = action, .note = note});
}

void PlanBuilder::RequeueAt(kube::WallTime time) { requeue_at_ = requeue_at_ ? std::min(*requeue_at_, time) : time; }

void PlanBuilder::RequeueAfter(std::chrono::nanoseconds delay) {
  RequeueAt(now_ + std::chrono::ceil<std::chrono::microseconds>(delay));
}

void PlanBuilder::BlockChanges(Blocker blocker) {
  may_apply_ = false;
  SetBlocker(std::move(blocker));
}

void PlanBuilder::SetBlocker(Blocker blocker) {
  if (!blocker_) blocker_ = std::move(blocker);
}

void PlanBuilder::AddNote(const Blocker& blocker) {
  if (!noted_) noted_ = blocker;
}

Plan PlanBuilder::Finish() && {
  // A refused creation must not keep pods from being deleted.
  std::stable_partition(plan_.actions.begin(), plan_.actions.end(),
                        [](const Action& action) { return std::holds_alternative<DeleteChild>(action); });
  // The progress is written before pods are deleted: it comes from a pod's termination message, which is deleted too.
  std::stable_partition(plan_.actions.begin(), plan_.actions.end(),
                        [](const Action& action) { return std::holds_alternative<WriteProgress>(action); });
  if (requeue_at_) {
    plan_.requeue_after = std::clamp(*requeue_at_, now_, now_ + kMaxRequeueDelay) - now_;
  }
  return std::move(plan_);
}

}  // namespace espalier::ctl::plan
