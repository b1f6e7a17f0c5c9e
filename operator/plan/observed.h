// The world around one DistTraining as the caches show it, as values.
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

// A child of a kind of which only its being there matters.
struct Child {
  const kube::Resource* resource = nullptr;
  kube::ObjectMeta meta;
};

struct Observed {
  // All objects with the job's label in its namespace, ours or not; `IsOurs` tells by the controller's uid.
  std::vector<std::shared_ptr<const kube::Job>> jobs;
  std::vector<std::shared_ptr<const kube::StatefulSet>> stateful_sets;
  std::vector<std::shared_ptr<const kube::Pod>> pods;
  std::vector<Child> others;  // Services, ConfigMaps, ServiceAccounts, NetworkPolicies, PodDisruptionBudgets

  // Secrets are read by GET, when the plan needs them: nullopt: not there.
  std::optional<resources::CertificateFacts> authority;
  std::map<api::Role, resources::CertificateFacts> leaves;
  // What the document refers to (credentials, tls.secretName) and is not there.
  struct MissingSecret {
    std::string name;
    std::vector<std::string> keys = {};  // that it lacks; empty: the Secret itself does not exist
  };
  std::vector<MissingSecret> missing_secrets;

  // Of the Jobs that a plan has asked about (Questions::vanished_jobs), those that the API server does not have: a
  // cache that is behind shows none either, and a group that trains is not ended for that.
  std::vector<std::string> confirmed_gone;

  // By name of a Job with spec.suspend, which no plan sets: the field manager that wrote it. Missing where the API
  // server names none.
  std::map<std::string, kube::FieldManager> suspended_by;

  // FailedCreate events by uid of the StatefulSet or Job, asked for when pods are missing for 3 s; newest message
  // first.
  std::map<std::string, std::vector<std::string>> creation_failures;
  // What the kubelet says of volumes that it cannot mount, by uid of the pod that waits for them: the newest.
  std::map<std::string, std::string> mount_failures;
  // Objects without our label that hold a name of ours: not in the caches, met by apply (ApplyChild::uid) and looked at
  // again before each plan. The plan waits until the name is free.
  std::vector<Child> in_the_way;
  // What the API server said to the last action, where it failed in a way that repeating alone does not mend (403: a
  // quota on objects, a missing permission; 422; an admission webhook that is out of reach). Shown to people; the
  // action is planned again all the same.
  struct Refusal {
    std::string child;    // "Job cora-partition-1"
    std::string reason;   // "Forbidden", "Invalid", "NameTaken", "WebhookOutOfReach"
    std::string message;  // the server's
  };
  std::optional<Refusal> refusal;
  // What the dry run of the templates said, for this generation.
  struct DryRun {
    enum class Refusal {
      kNone,
      kTemplate,   // by what the document says
      kForbidden,  // by a quota, policy or permission, whatever the template says
      kWebhook,    // an admission webhook is out of reach
      kPodRules,   // by the administrator's rules on what pods may use (controller/pod_policy.h)
      kName,       // another object has the name: nothing is known of the template
    };
    int64_t generation = 0;
    bool is_due = false;  // to be asked again: what was refused then may be accepted now
    Refusal refusal = Refusal::kNone;
    // "spec.trainers.template.spec.foo: unknown field". Without a refusal: why some could not be tried.
    std::string error;
  };
  std::optional<DryRun> dry_run;
};

bool IsOurs(const kube::ObjectMeta& meta, const api::DistTraining& training);

}  // namespace espalier::ctl::plan
