// A plan under construction: make_plan.cc runs the stages, which add to it in the order in which a job starts. Each
// stage looks at the world, writes what it finds to the status, and plans what is missing; all may run any number of
// times.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "operator/plan/failure.h"
#include "operator/plan/plan.h"
#include "operator/plan/reasons.h"
#include "operator/plan/world.h"
#include "operator/resources/builders.h"

namespace espalier::ctl::plan {

// What keeps a role from getting ready and can be fixed from outside.
struct Blocker {
  std::string role = {};  // empty: the job's
  std::string reason = {};
  std::string message = {};
  std::string pod = {};
  std::optional<int> exit_code = {};
};

// Owned by one thread; what it is made of outlives it.
class PlanBuilder {
 public:
  PlanBuilder(const api::DistTraining& training, const Observed& seen, const World& world, const Defaults& defaults,
              kube::WallTime now);

  const api::DistTraining& training() const { return training_; }
  const std::string& name() const { return training_.meta.key.name; }
  const api::Spec& spec() const;  // only where there is a valid one
  const api::RunPolicy& run_policy() const { return run_policy_; }
  const Observed& seen() const { return seen_; }
  const World& world() const { return world_; }
  const Defaults& defaults() const { return defaults_; }
  kube::WallTime now() const { return now_; }
  kube::WallTime stamp() const;  // as it can be stored: whole seconds
  api::Status& status() { return plan_.status; }
  const api::Status& status() const { return plan_.status; }
  resources::Context context() const;

  void SetCondition(const char* type, api::ConditionStatus status, const std::string& reason,
                    const std::string& message);
  // For a condition that was never set, nothing: what did not begin cannot be over.
  void ClearCondition(const char* type, const std::string& reason, const std::string& message);

  // Applies `object` where the caches show none, or one made from something else (kInputsAnnotation). False where it is
  // not there yet and was not planned either: the name is somebody else's, or nothing may be made now.
  bool Apply(const kube::Resource& resource, kube::Json object);
  // The same, where building the object is the larger part of it: `build` is called only for one that is to be applied.
  // `inputs` is the value that its kInputsAnnotation would have.
  bool Apply(const kube::Resource& resource, const std::string& name, const std::string& inputs,
             const std::function<kube::Json()>& build);
  // The same for one whose current state is known to differ from what it should be.
  bool ApplyAgain(const kube::Resource& resource, kube::Json object);
  // Nothing for a child whose deletion is under way.
  void Delete(const kube::Resource& resource, const kube::ObjectMeta& meta,
              kube::Propagation propagation = kube::Propagation::kBackground);
  void Add(Action action) { plan_.actions.push_back(std::move(action)); }
  void AddEvent(runtime::EventType type, const std::string& reason, const std::string& action, const std::string& note);

  // Look again at this time, whatever happens until then.
  void RequeueAt(kube::WallTime time);
  void RequeueAfter(std::chrono::nanoseconds delay);

  // Nothing is made or changed from here on; what is there is watched and, where it must, deleted.
  void BlockChanges() { may_apply_ = false; }
  void BlockChanges(Blocker blocker);
  // What keeps the whole job from going on. The first is the cause.
  void SetBlocker(Blocker blocker);
  const std::optional<Blocker>& blocker() const { return blocker_; }
  // Records a blocker of one role, which last_error reports where no blocker of the whole job exists.
  void AddNote(const Blocker& blocker);
  const std::optional<Blocker>& blocker_or_note() const { return blocker_ ? blocker_ : noted_; }

  Plan Finish() &&;

 private:
  const api::DistTraining& training_;
  const Observed& seen_;
  const World& world_;
  const Defaults& defaults_;
  const kube::WallTime now_;
  const api::RunPolicy run_policy_;
  Plan plan_;
  bool may_apply_ = true;
  std::optional<Blocker> blocker_, noted_;
  std::optional<kube::WallTime> requeue_at_;
};

}  // namespace espalier::ctl::plan
