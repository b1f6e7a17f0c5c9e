// The DistTraining resource as the operator reads it: its identity, the job, the fields that only a cluster uses, and
// the status. services/job parses and validates the job, with the code that `espalier run` uses. Plain values; no I/O.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/status.h"
#include "operator/kube/object_meta.h"
#include "services/job/dist_training.h"

namespace espalier::ctl::api {

enum class Role { kPartitioner, kServer, kSampler, kTrainer };
inline constexpr std::array kRoles{Role::kPartitioner, Role::kServer, Role::kSampler, Role::kTrainer};
const char* ToString(Role role);   // "partitioner", "server", "sampler", "trainer": in child names and label values
const char* FieldName(Role role);  // "partitioner", "servers", "samplers", "trainers": in the document

// spec.<role>: settings of the role's pods. Validated JSON, as in the document.
struct RoleSpec {
  std::string image;  // empty: the operator's default
  kube::Json resources = kube::Json::object();
  kube::Json env = kube::Json::array();
  kube::Json node_selector = kube::Json::object();
  kube::Json tolerations = kube::Json::array();
  std::string service_account_name;                // empty: the job's own account, without a token
  kube::Json pod_template = kube::Json::object();  // partial PodTemplateSpec
  bool cache_in_memory = false;                    // servers.cacheMedium is Memory
  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;
};

enum class CleanPodPolicy { kAll, kRunning, kNone };

// spec.runPolicy.
struct RunPolicy {
  bool suspend = false;
  int64_t backoff_limit = 3;
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  std::optional<std::chrono::seconds> active_deadline;     // nullopt: none
  std::optional<std::chrono::seconds> ttl_after_finished;  // nullopt: the job is not deleted
  std::string managed_by;                                  // empty or kOperatorName: this operator
  std::chrono::seconds force_delete_after{30};
  friend bool operator==(const RunPolicy&, const RunPolicy&) = default;
};
inline constexpr char kOperatorName[] = "espalier.io/operator";

using TlsMode = job::TlsMode;

// A valid spec.
struct Spec {
  job::DistTraining job;  // job.tls is Managed if the document does not set spec.tls.mode
  kube::Json document;    // the document with defaults: what the role binaries read (--job)
  std::array<RoleSpec, kRoles.size()> roles;
  RunPolicy run_policy;
  TlsMode tls = TlsMode::kManaged;  // as job.tls
  std::string tls_secret;           // as job.tls_secret
  // False if scheduling.gang is Never. True: the pods of a role start all-or-nothing if the cluster supports gangs.
  bool gangs = true;

  const RoleSpec& role(Role role) const { return roles[static_cast<size_t>(role)]; }
};

struct DistTraining {
  kube::ObjectMeta meta;
  Status status;        // as stored
  kube::Json raw_spec;  // as stored
  // The spec if it is valid. Otherwise `violations` has one line per violation: "spec.training.epochs: expected ...".
  std::optional<Spec> spec;
  std::string violations;
};

// Returns the run policy. For an invalid spec, returns the fields that can be read, and defaults for the others.
RunPolicy EffectiveRunPolicy(const DistTraining& training);

// Returns whether this operator manages the job, by spec.runPolicy.managedBy. The spec may be invalid.
bool IsManagedByEspalier(const kube::Json& raw_spec);

// Parses a DistTraining as the API server stores it. Returns InvalidArgument only if `object` is not a DistTraining
// (another kind, invalid metadata, spec not an object). An invalid spec is not an error: the result then has
// `violations` and no `spec`. Status fields of a wrong type count as unset.
Result<DistTraining> ParseDistTraining(const kube::Json& object);
// Like ParseDistTraining(object). If name and spec equal those of `before`, copies its parsed spec or violations, which
// saves most of the work. `before` may be any DistTraining.
Result<DistTraining> ParseDistTraining(const kube::Json& object, const DistTraining& before);

}  // namespace espalier::ctl::api
