// Plain values that describe the objects of one DistTraining as the caches show them, and the answers of the API server
// that its plan needs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kube/field_manager.h"
#include "operator/kube/pod.h"
#include "operator/kube/pod_group.h"
#include "operator/kube/queued_workload.h"
#include "operator/kube/workload.h"
#include "operator/resources/secrets.h"

namespace espalier::ctl::plan {

// An object of which plans use only the metadata.
struct Child {
  const kube::Resource* resource = nullptr;
  kube::ObjectMeta meta;
};

struct Observed {
  // All objects in the job's namespace with the job's label. They may include objects of other owners: IsOurs compares
  // the uid in the controller owner reference with the job's uid.
  std::vector<std::shared_ptr<const kube::Job>> jobs;
  std::vector<std::shared_ptr<const kube::StatefulSet>> stateful_sets;
  std::vector<std::shared_ptr<const kube::Pod>> pods;
  std::vector<Child> others;  // Services, ConfigMaps, ServiceAccounts, NetworkPolicies, PodDisruptionBudgets

  // Facts about the certificates in Secrets, set only if Lookups::certificates (plan.h) is set. `authority` is nullopt
  // if the job has no Secret with a usable certificate authority. `leaves` has no entry for a role without a Secret
  // with a usable certificate, and is empty without an authority.
  std::optional<resources::CertificateFacts> authority;
  std::map<api::Role, resources::CertificateFacts> leaves;
  // Secrets that the document refers to (credentials, tls.secretName) and that do not exist or lack keys.
  struct MissingSecret {
    std::string name;
    std::vector<std::string> keys = {};  // missing keys; empty: the Secret itself does not exist
  };
  std::vector<MissingSecret> missing_secrets;

  // Those Jobs of Lookups::vanished_jobs for which the API server returned NotFound. A cache alone is not enough to
  // decide that a Job is gone: if a stale cache lacked a Job that exists, the operator would end a running trainer
  // group.
  std::vector<std::string> confirmed_gone;

  // By Job name: the field manager that wrote the Job's spec.suspend. The operator never sets this field. No entry if
  // the API server names no manager.
  std::map<std::string, kube::FieldManager> suspended_by;

  // By uid of the StatefulSet or Job: the messages of its FailedCreate events, newest first. Read if it has had too few
  // pods for 3 s.
  std::map<std::string, std::vector<std::string>> creation_failures;
  // The newest message about volumes that cannot be mounted, by uid of the pod that waits for them.
  std::map<std::string, std::string> mount_failures;
  // Objects of other owners, without the job's label, whose name is the name of one of this job's children. The caches
  // do not contain them. The operator discovers such an object when it applies the child (ApplyChild::uid), and reads
  // the object from the API server before each plan. The plan waits until the name is free.
  std::vector<Child> conflicting_objects;
  // The refusal of an action of the last plan, if a retry alone does not resolve it (403: a quota on objects, a missing
  // permission; 422; an unreachable admission webhook; a child's name that an object of another owner has). The refusal
  // is shown to users. The next plan nevertheless contains the action again.
  struct Refusal {
    std::string child;    // "Job cora-partition-1"
    std::string reason;   // "Forbidden", "Invalid", "NameTaken", "WebhookOutOfReach"
    std::string message;  // from the API server or, for NameTaken, from the operator
  };
  std::optional<Refusal> refusal;
  // The result of the dry run of the templates of one generation of the document.
  struct DryRun {
    enum class Refusal {
      kNone,
      kTemplate,  // refused because of the document
      // Refused by a quota or a policy, or for lack of a permission; the content of the template does not matter.
      kForbidden,
      kWebhook,   // an admission webhook is unreachable
      kPodRules,  // refused by the administrator's policy on pods (controller/pod_policy.h)
      kName,      // an object of another owner has a child's name: the template was not checked
    };
    int64_t generation = 0;
    bool is_due = false;  // the dry run must be repeated: a template that was refused may be accepted now
    Refusal refusal = Refusal::kNone;
    // The refusal: "spec.trainers.template.spec.foo: unknown field". Without a refusal: why some templates were not
    // checked.
    std::string error;
  };
  std::optional<DryRun> dry_run;

  // The job's queue in Kueue; used if the resource has the label resources::kQueueLabel.
  struct Queue {
    bool is_enabled = false;  // the operator uses Kueue (--kueue)
    std::string list_error;   // why the cache of Workloads is not filled; empty: it is filled
    std::vector<std::shared_ptr<const kube::QueuedWorkload>> workloads;  // with the job's label
    // A ResourceFlavor of Lookups::flavors.
    struct Flavor {
      kube::Json node_labels = kube::Json::object();
      kube::Json tolerations = kube::Json::array();
      std::string error;  // why the flavor could not be read; empty: it was read
      friend bool operator==(const Flavor&, const Flavor&) = default;
    };
    std::map<std::string, Flavor> flavors;  // by name
    // The value of Lookups::priority_class, or why it could not be read.
    std::optional<int64_t> priority;
    std::string priority_error;
  };
  Queue queue;

  // The job's PodGroups.
  struct Gangs {
    bool is_enabled = false;  // the operator uses PodGroups (--gang-scheduling)
    bool is_missing = false;  // the API server does not serve them
    std::string list_error;   // unless is_missing: why the cache of PodGroups is not filled; empty: it is filled
    std::vector<std::shared_ptr<const kube::PodGroup>> groups;  // with the job's label
  };
  Gangs gangs;
};

// Returns whether the object's controller is `training`, by uid.
bool IsOurs(const kube::ObjectMeta& meta, const api::DistTraining& training);

}  // namespace espalier::ctl::plan
