// The DistTraining resource as the operator sees it: identity, what the job wants (services/job parses and validates
// that, the same for laptop and cluster), what only a cluster uses, and the status. Values; no I/O.
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
const char* ToString(Role role);   // "partitioner", "server", "sampler", "trainer": names of children, label values
const char* FieldName(Role role);  // "partitioner", "servers", "samplers", "trainers": in the document

// spec.<role>: what a pod of it should be like. JSON as the document has it, validated.
struct RoleSpec {
  std::string image;  // empty: the operator's default
  kube::Json resources = kube::Json::object();
  kube::Json env = kube::Json::array();
  kube::Json node_selector = kube::Json::object();
  kube::Json tolerations = kube::Json::array();
  std::string service_account_name;                // empty: the job's own, without a token
  kube::Json pod_template = kube::Json::object();  // partial PodTemplateSpec
  bool cache_in_memory = false;                    // servers.cacheMedium: Memory
  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;
};

enum class CleanPodPolicy { kAll, kRunning, kNone };

struct RunPolicy {
  bool suspend = false;
  int64_t backoff_limit = 3;
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  std::optional<std::chrono::seconds> active_deadline;
  std::optional<std::chrono::seconds> ttl_after_finished;
  std::string managed_by;  // empty or kOperatorName: ours
  std::chrono::seconds force_delete_after{30};
  friend bool operator==(const RunPolicy&, const RunPolicy&) = default;
};
inline constexpr char kOperatorName[] = "espalier.io/operator";

using TlsMode = job::TlsMode;

// What a valid spec says.
struct Spec {
  job::DistTraining job;  // tls, where the document says nothing, is Managed here
  kube::Json document;    // the document with defaults: what the role binaries read (--job)
  std::array<RoleSpec, kRoles.size()> roles;
  RunPolicy run_policy;
  TlsMode tls = TlsMode::kManaged;
  std::string tls_secret;

  const RoleSpec& role(Role role) const { return roles[static_cast<size_t>(role)]; }
};

struct DistTraining {
  kube::ObjectMeta meta;
  Status status;        // as stored
  kube::Json raw_spec;  // as stored
  // The valid spec, or why it is not: one line per violation, "spec.training.epochs: expected ...".
  std::optional<Spec> spec;
  std::string violations;
};

// spec->run_policy; of a spec that is not valid what can be read, and defaults for what makes no sense.
RunPolicy EffectiveRunPolicy(const DistTraining& training);

// Of spec.runPolicy.managedBy, in a spec as it is stored, valid or not: no other controller looks after this job.
bool IsInOurCharge(const kube::Json& raw_spec);

// InvalidArgument only where `object` is no DistTraining at all (no name, spec no object); a spec that is not valid is
// a value. Status fields of other types than they should have count as unset.
Result<DistTraining> ParseDistTraining(const kube::Json& object);
// The same, where the resource has been read before: a spec that is still what it was is copied from `before` and not
// checked again, which is most of the work. `before` may be any DistTraining.
Result<DistTraining> ParseDistTraining(const kube::Json& object, const DistTraining& before);

}  // namespace espalier::ctl::api
