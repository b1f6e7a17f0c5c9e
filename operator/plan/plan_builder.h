// A plan under construction. make_plan.cc runs the stages in the order in which a job starts. Each stage looks at the
// cluster, writes what it finds to the status, and plans what is missing. Stages are idempotent.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "operator/plan/failure.h"
#include "operator/plan/plan.h"
#include "operator/plan/reasons.h"
#include "operator/plan/world.h"
#include "operator/resources/builders.h"

namespace espalier::ctl::plan {

// A problem that keeps a role from becoming ready and that a user or administrator can fix.
struct Blocker {
  std::string role = {};  // empty: the whole job
  std::string reason = {};
  std::string message = {};
  std::string pod = {};  // its name; empty: not about one pod
  std::optional<int> exit_code = {};
};

// Not thread-safe. The constructor's reference arguments must outlive it.
class PlanBuilder {
 public:
  PlanBuilder(const api::DistTraining& training, const Observed& seen, const World& world, const Defaults& defaults,
              kube::WallTime now);

  const api::DistTraining& training() const { return training_; }
  const std::string& name() const { return training_.meta.key.name; }
  const api::Spec& spec() const;  // requires a valid spec
  const api::RunPolicy& run_policy() const { return run_policy_; }
  const Observed& seen() const { return seen_; }
  const World& world() const { return world_; }
  const Defaults& defaults() const { return defaults_; }
  kube::WallTime now() const { return now_; }
  kube::WallTime stamp() const;  // now() in whole seconds, as the status stores it
  api::Status& status() { return plan_.status; }
  const api::Status& status() const { return plan_.status; }
  resources::Context context() const;
  // Sets the node labels, tolerations and other settings that Kueue adds to the pods of each role.
  void SetPlacements(std::map<api::Role, kube::Json> placements) { placements_ = std::move(placements); }
  // Makes the role's pods members of their PodGroup, in all children that are built after this call.
  void AddGang(api::Role role) { gangs_.insert(role); }

  void SetCondition(const char* type, api::ConditionStatus status, const std::string& reason,
                    const std::string& message);
  // Sets the condition to False. Does nothing if it was never set.
  void ClearCondition(const char* type, const std::string& reason, const std::string& message);

  // Plans to apply `object` if the caches do not show the child, or show one made from other inputs
  // (kInputsAnnotation). Returns false in these cases: another owner has the name; changes are blocked and the child
  // does not exist; the child must be changed but is being deleted.
  bool Apply(const kube::Resource& resource, kube::Json object);
  // The same for an object that takes long to build: calls `build` only if it must be applied. `inputs` is the value of
  // the object's kInputsAnnotation.
  bool Apply(const kube::Resource& resource, const std::string& name, const std::string& inputs,
             const std::function<kube::Json()>& build);
  // Like the first Apply, but plans the apply even if the child was made from the same inputs. For a child of which
  // another writer has changed fields.
  bool ApplyAgain(const kube::Resource& resource, kube::Json object);
  // Plans the deletion of a child. Does nothing if its deletion has been requested already.
  void Delete(const kube::Resource& resource, const kube::ObjectMeta& meta,
              kube::Propagation propagation = kube::Propagation::kBackground);
  void Add(Action action) { plan_.actions.push_back(std::move(action)); }
  void AddEvent(runtime::EventType type, const std::string& reason, const std::string& action, const std::string& note);

  // Requests a reconcile at this time at the latest.
  void RequeueAt(kube::WallTime time);
  void RequeueAfter(std::chrono::nanoseconds delay);

  // Makes all later calls of Apply plan nothing. Deletions are still planned. With a blocker, also calls SetBlocker.
  void BlockChanges() { may_apply_ = false; }
  void BlockChanges(Blocker blocker);
  // Sets the blocker of the whole job, unless it has one already.
  void SetBlocker(Blocker blocker);
  const std::optional<Blocker>& blocker() const { return blocker_; }
  // Records a blocker of one role, unless one is recorded already. last_error reports it if there is no blocker of the
  // whole job.
  void AddNote(const Blocker& blocker);
  const std::optional<Blocker>& blocker_or_note() const { return blocker_ ? blocker_ : noted_; }

  // Returns the plan, with its actions in their final order (plan.h).
  Plan Finish() &&;

 private:
  const api::DistTraining& training_;
  const Observed& seen_;
  const World& world_;
  const Defaults& defaults_;
  const kube::WallTime now_;
  const api::RunPolicy run_policy_;
  Plan plan_;
  std::map<api::Role, kube::Json> placements_;
  std::set<api::Role> gangs_;
  bool may_apply_ = true;
  std::optional<Blocker> blocker_, noted_;
  std::optional<kube::WallTime> requeue_at_;
};

}  // namespace espalier::ctl::plan
