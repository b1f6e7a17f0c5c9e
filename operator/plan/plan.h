// What to do about one DistTraining: a pure function of the resource, the world and the time. Level based: any event,
// any order, any number of times, a restarted operator: the same plan.
//
// The order of apply (controller/apply.h): the status first, if it differs from the stored one, with the
// resourceVersion as precondition; only when that is written, the actions in order, deletions first (but what a pod
// said last is written before the pod goes), up to the first error; nothing waits for a forced deletion that is
// refused. So an incarnation is in the status before its children exist (write-ahead), and what a plan has forgotten it
// finds in the status.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "operator/kube/request.h"
#include "operator/plan/observed.h"
#include "operator/runtime/event_recorder.h"

namespace espalier::ctl::plan {

// Of everything that the operator writes.
inline constexpr char kFieldManager[] = "espalier-operator";

// Server-side apply of the whole object under our field manager.
struct ApplyChild {
  const kube::Resource* resource = nullptr;
  kube::Json object;
  // Of the child that is to be changed; it is in `object` as well (metadata.uid), so that a child that was deleted and
  // made again by others in the meantime is not taken over. Empty: the caches show none; apply makes sure, by a GET,
  // that nobody else's is there, and tells Observed::in_the_way instead of touching it.
  std::string uid = {};
};
// Secrets have random contents: apply makes them (resources/secrets.h). Created, or replaced where leaves are renewed.
struct MakeAuthority {};
struct MakeLeaf {
  api::Role role;
};
// By uid. A pod's `force` is grace period 0: of a node that is gone. Jobs of trainers and partitioners are deleted in
// the foreground: a Job that is gone has no pods left.
struct DeleteChild {
  const kube::Resource* resource = nullptr;
  kube::ObjectKey key;
  std::string uid;
  bool force = false;
  kube::Propagation propagation = kube::Propagation::kBackground;
  std::optional<std::chrono::seconds> grace = {};  // of a pod; unset: the pod's own
};
struct DeleteSelf {};  // ttl
// status.progress, by the field manager that it has for itself. Best effort: a refusal of it stops no other action.
struct WriteProgress {
  api::Progress progress;
};
// Templates by dry run, before anything is created: the answer is Observed::dry_run of the next round.
struct DryRunTemplates {
  std::vector<ApplyChild> children;
};
using Action =
    std::variant<ApplyChild, MakeAuthority, MakeLeaf, DeleteChild, DeleteSelf, WriteProgress, DryRunTemplates>;

// What has to be looked up before the next plan, because no cache holds it.
struct Questions {
  bool certificates = false;  // Observed::authority and leaves; an answer of the last ten minutes will do
  std::optional<kube::WallTime> certificates_read_since;  // set: only an answer that was read since then will do
  bool referenced_secrets = false;
  std::vector<std::string> creation_failures_of;  // uids of StatefulSets and Jobs
  std::vector<std::string> mount_failures_of;     // uids of pods
  std::vector<std::string> vanished_jobs;         // names: Observed::confirmed_gone
  std::vector<std::string> unseen_pods_of;        // names of Jobs, whose pods are added to Observed::pods
  std::vector<std::string> suspended_jobs;        // names: Observed::suspended_by
};

struct Plan {
  api::Status status;  // as it should be stored; progress as it is stored
  std::vector<Action> actions;
  std::vector<runtime::EventNote> events;  // recorded when the status has been written
  std::optional<std::chrono::nanoseconds> requeue_after;
};

struct Defaults {
  std::string core_image;  // of partitioner, servers, samplers
  std::string trainer_image;
  std::string cluster_domain = "cluster.local";
  resources::ImagePull image_pull = {};
  resources::JobDefaults job_defaults = {};
};

// Of a job that is managed by another controller (runPolicy.managedBy): the stored status, nothing to do. Of one that
// is being deleted: the stored status, and pods of dead nodes are given up.
Plan MakePlan(const api::DistTraining& training, const Observed& seen, const Defaults& defaults, kube::WallTime now);

// Those whose pods have peers.
std::vector<api::Role> RolesWithCertificates(const api::Spec& spec);
// The same; all that may be among them where the document cannot be read.
std::vector<api::Role> RolesWithCertificates(const api::DistTraining& training);

// Secrets and events are in no watch: a plan that waits for them wants the next round after this time, and after more
// time once pods have been lacking for long.
inline constexpr std::chrono::seconds kAskAgain{5}, kAskAgainAtLast{60};

// What MakePlan would like to know besides the caches, asked before it.
Questions CollectQuestions(const api::DistTraining& training, const Observed& seen, kube::WallTime now);

}  // namespace espalier::ctl::plan
