// Computes what to do about one DistTraining: a pure function of the resource, the observed cluster and the time. It is
// level-based: the plan depends neither on the order or number of watch events nor on restarts of the operator.
//
// controller/apply.h carries out a plan: it writes the status, if it differs from the stored one, with the
// resourceVersion as precondition, then runs the actions in order, up to the first error. So an incarnation is in the
// status before its children exist (write-ahead), and a restarted operator finds all that it needs in the status.
//
// WriteProgress is the first action: it writes the final progress, from a pod's termination message, which is lost when
// the pod is deleted. (While trainers run, controller/progress.h writes the progress, without a plan.) The deletions of
// children follow, then all other actions. A refused forced deletion does not stop the actions after it.
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

// The field manager of all fields that the operator writes, except status.progress.
inline constexpr char kFieldManager[] = "espalier-operator";

// Server-side apply of the whole object with kFieldManager.
struct ApplyChild {
  const kube::Resource* resource = nullptr;
  kube::Json object;
  // The uid of the child to change. It is in `object` as well (metadata.uid), so that a child that was deleted and
  // created again by another writer is not changed. Empty: the caches do not show the child. If an object of another
  // owner has the name, it is not changed, and the next plan gets it in Observed::conflicting_objects.
  std::string uid = {};
};
// MakeAuthority creates or replaces the Secret of the job's certificate authority, MakeLeaf the Secret with the
// certificate of one role. Their contents are random, so the action generates them (resources/secrets.h), not the plan.
struct MakeAuthority {};
struct MakeLeaf {
  api::Role role;
};
// Deletes the object with this uid. `force` sets grace period 0, for a pod on a lost node. Jobs of trainers and
// partitioners are deleted in the foreground: such a Job exists until its pods are gone.
struct DeleteChild {
  const kube::Resource* resource = nullptr;
  kube::ObjectKey key;
  std::string uid;
  bool force = false;
  kube::Propagation propagation = kube::Propagation::kBackground;
  std::optional<std::chrono::seconds> grace = {};  // of a pod; unset: the pod's own
};
struct DeleteSelf {};  // deletes the DistTraining, ttlSecondsAfterFinished after its end
// Writes the final status.progress (final_progress.h) with its own field manager. The actions after it run even if the
// API server refuses the write permanently, but not after an error that may be temporary.
struct WriteProgress {
  api::Progress progress;
};
// Checks by dry run, before anything is created, whether the API server accepts the children made from the job's
// templates. The next plan gets the result in Observed::dry_run.
struct DryRunTemplates {
  std::vector<ApplyChild> children;
};
// A merge patch of the status of the job's Workload in a queue of Kueue. It contains the resourceVersion that it was
// made for, because it replaces whole lists.
struct PatchWorkloadStatus {
  kube::ObjectKey key;
  kube::Json patch;
};
using Action = std::variant<ApplyChild, MakeAuthority, MakeLeaf, DeleteChild, DeleteSelf, WriteProgress,
                            DryRunTemplates, PatchWorkloadStatus>;

// What the caller must read from the API server before MakePlan, because no cache contains it. The comments name the
// members of Observed that get the results.
struct Lookups {
  bool certificates = false;  // Observed::authority and leaves; they may have been read up to ten minutes ago
  // The Secrets with certificates must also be read again if they were last read before this time.
  std::optional<kube::WallTime> certificates_must_be_read_since;
  bool referenced_secrets = false;                // Observed::missing_secrets
  std::vector<std::string> creation_failures_of;  // uids of StatefulSets and Jobs: Observed::creation_failures
  std::vector<std::string> mount_failures_of;     // uids of pods: Observed::mount_failures
  std::vector<std::string> vanished_jobs;         // names: Observed::confirmed_gone
  std::vector<std::string> unseen_pods_of;        // names of Jobs whose pods are added to Observed::pods
  std::vector<std::string> suspended_jobs;        // names: Observed::suspended_by
  std::vector<std::string> flavors;               // names of ResourceFlavors: Observed::Queue::flavors
  std::string priority_class;                     // a WorkloadPriorityClass: Observed::Queue::priority; empty: none
};

struct Plan {
  api::Status status;  // to be stored; its progress is the stored one: a plan changes it only by WriteProgress
  std::vector<Action> actions;
  std::vector<runtime::EventNote> events;                 // recorded after the status is written
  std::optional<std::chrono::nanoseconds> requeue_after;  // unset: only watch events trigger the next reconcile
};

// Settings of the operator for all jobs.
struct Defaults {
  std::string core_image;  // for partitioner, servers, samplers
  std::string trainer_image;
  std::string trainer_cuda_image = {};  // for trainers that may use CUDA; empty: trainer_image
  std::string cluster_domain = "cluster.local";
  resources::ImagePull image_pull = {};
  std::string gpu_resource = resources::kGpuResource;  // extended resource of spec.trainers.gpus
  resources::JobDefaults job_defaults = {};
};

// Returns the plan. For a job that another controller manages (runPolicy.managedBy): the stored status, no actions. For
// a job that is being deleted: the stored status, and actions only on pods that would delay its deletion (pods whose
// program has ended but whose sidecars still run, pods on lost nodes).
Plan MakePlan(const api::DistTraining& training, const Observed& seen, const Defaults& defaults, kube::WallTime now);

// Returns the roles whose pods communicate over the network with other pods of the job, and so need certificates.
std::vector<api::Role> RolesWithCertificates(const api::Spec& spec);
// The same; if the spec is invalid, all roles that may need certificates.
std::vector<api::Role> RolesWithCertificates(const api::DistTraining& training);

// No watch covers Secrets or Event objects. A plan that waits for a Secret requeues after kMinEventReadInterval. A plan
// that waits for Events, because pods are missing or wait for volumes, requeues after kMinEventReadInterval at first;
// the longer the problem lasts, the longer this time gets, up to kMaxEventReadInterval.
inline constexpr std::chrono::seconds kMinEventReadInterval{5}, kMaxEventReadInterval{60};

// Returns what the caller must read from the API server before MakePlan. `seen` has only what the caches contain.
Lookups CollectLookups(const api::DistTraining& training, const Observed& seen, kube::WallTime now);

}  // namespace espalier::ctl::plan
