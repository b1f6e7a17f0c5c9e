// The cluster around one DistTraining as the caches show it, as plain values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kube/field_manager.h"
#include "operator/kube/pod.h"
#include "operator/kube/workload.h"
#include "operator/resources/secrets.h"

namespace espalier::ctl::plan {

// A child of a kind whose metadata alone is used.
struct Child {
  const kube::Resource* resource = nullptr;
  kube::ObjectMeta meta;
};

struct Observed {
  // All objects in the job's namespace with the job's label. IsOurs tells by the controller's uid which belong to the
  // job.
  std::vector<std::shared_ptr<const kube::Job>> jobs;
  std::vector<std::shared_ptr<const kube::StatefulSet>> stateful_sets;
  std::vector<std::shared_ptr<const kube::Pod>> pods;
  std::vector<Child> others;  // Services, ConfigMaps, ServiceAccounts, NetworkPolicies, PodDisruptionBudgets

  // Facts from Secrets, read by GET if a plan needs them; nullopt: the Secret does not exist.
  std::optional<resources::CertificateFacts> authority;
  std::map<api::Role, resources::CertificateFacts> leaves;
  // Secrets that the document refers to (credentials, tls.secretName) and that do not exist or lack keys.
  struct MissingSecret {
    std::string name;
    std::vector<std::string> keys = {};  // missing keys; empty: the Secret itself does not exist
  };
  std::vector<MissingSecret> missing_secrets;

  // Jobs of Questions::vanished_jobs that the API server confirms not to exist. A cache that is behind shows none
  // either, and a running trainer group must not be ended for that.
  std::vector<std::string> confirmed_gone;

  // The field manager that wrote spec.suspend, which no plan sets, by Job name. No entry if the API server names none.
  std::map<std::string, kube::FieldManager> suspended_by;

  // Messages of FailedCreate events by uid of the StatefulSet or Job, read if pods have been missing for 3 s; newest
  // first.
  std::map<std::string, std::vector<std::string>> creation_failures;
  // The newest message about volumes that cannot be mounted, by uid of the pod that waits for them.
  std::map<std::string, std::string> mount_failures;
  // Objects of other owners, without our label, that have a name of one of this job's children. No cache shows them:
  // apply finds them (ApplyChild::uid), and they are read again before each plan. The plan waits until the name is
  // free.
  std::vector<Child> in_the_way;
  // The API server's refusal of the last action, if a retry alone does not resolve it (403: a quota on objects, a
  // missing permission; 422; an unreachable admission webhook). It is shown to users; the action is planned again all
  // the same.
  struct Refusal {
    std::string child;    // "Job cora-partition-1"
    std::string reason;   // "Forbidden", "Invalid", "NameTaken", "WebhookOutOfReach"
    std::string message;  // the server's
  };
  std::optional<Refusal> refusal;
  // The result of the dry run of the templates, for this generation.
  struct DryRun {
    enum class Refusal {
      kNone,
      kTemplate,   // because of the document
      kForbidden,  // by a quota, policy or permission, whatever the template
      kWebhook,    // an admission webhook is unreachable
      kPodRules,   // by the administrator's policy on pods (controller/pod_policy.h)
      kName,       // an object of another owner has the name: the template was not checked
    };
    int64_t generation = 0;
    bool is_due = false;  // the dry run must be repeated: what was refused may be accepted now
    Refusal refusal = Refusal::kNone;
    // "spec.trainers.template.spec.foo: unknown field". Without a refusal: why some templates could not be tried.
    std::string error;
  };
  std::optional<DryRun> dry_run;
};

// Returns whether the object's controller is `training`, by uid.
bool IsOurs(const kube::ObjectMeta& meta, const api::DistTraining& training);

}  // namespace espalier::ctl::plan
