// services/job parses and validates a document made of the job's name and its stored spec. The fields that only a
// cluster uses are then read from the effective document, which contains the defaults. The run policy can also be read
// from an invalid spec, because suspension and clean-up must work without a valid one.
#include "operator/api/dist_training.h"

#include <algorithm>
#include <limits>

#include "operator/api/check_cluster.h"
#include "services/base/check.h"
#include "services/job/parsing/parse.h"

namespace espalier::ctl::api {
namespace {

using kube::Json;

// Returns the value at `path` if it has the type of `otherwise`, else `otherwise`.
Json ValueAt(const Json& value, kube::JsonPath path, Json otherwise) {
  const Json* found = kube::Find(value, path);
  if (found == nullptr || found->type() != otherwise.type()) return otherwise;
  return *found;
}

RoleSpec ReadRole(const Json& spec, Role role) {
  const Json json = ValueAt(spec, {FieldName(role)}, Json::object());
  RoleSpec read;
  read.image = kube::StringAt(json, {"image"});
  read.resources = ValueAt(json, {"resources"}, Json::object());
  read.env = ValueAt(json, {"env"}, Json::array());
  read.node_selector = ValueAt(json, {"nodeSelector"}, Json::object());
  read.tolerations = ValueAt(json, {"tolerations"}, Json::array());
  read.service_account_name = kube::StringAt(json, {"serviceAccountName"});
  read.pod_template = ValueAt(json, {"template"}, Json::object());
  read.cache_in_memory = kube::StringAt(json, {"cacheMedium"}) == "Memory";
  return read;
}

CleanPodPolicy ReadCleanPodPolicy(const std::string& name) {
  if (name == "All") return CleanPodPolicy::kAll;
  return name == "None" ? CleanPodPolicy::kNone : CleanPodPolicy::kRunning;
}

// The schema's limits are narrower; this limit prevents overflows by an invalid document.
constexpr int64_t kMaxSeconds = std::numeric_limits<int32_t>::max();

std::optional<std::chrono::seconds> SecondsAt(const Json& value, kube::JsonPath path) {
  const std::optional<int64_t> seconds = kube::IntegerAt(value, path);
  if (!seconds || *seconds < 0 || *seconds > kMaxSeconds) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

RunPolicy ReadRunPolicy(const Json& spec) {
  RunPolicy policy;
  policy.suspend = kube::BoolAt(spec, {"runPolicy", "suspend"});
  policy.backoff_limit =
      std::max<int64_t>(0, kube::IntegerAt(spec, {"runPolicy", "backoffLimit"}).value_or(policy.backoff_limit));
  policy.clean_pod_policy = ReadCleanPodPolicy(kube::StringAt(spec, {"runPolicy", "cleanPodPolicy"}));
  policy.active_deadline = SecondsAt(spec, {"runPolicy", "activeDeadlineSeconds"});
  policy.ttl_after_finished = SecondsAt(spec, {"runPolicy", "ttlSecondsAfterFinished"});
  policy.managed_by = kube::StringAt(spec, {"runPolicy", "managedBy"});
  policy.force_delete_after =
      SecondsAt(spec, {"runPolicy", "forceDeleteAfterSeconds"}).value_or(policy.force_delete_after);
  return policy;
}

// Returns InvalidArgument with the violations as message.
Result<Spec> ParseSpec(const std::string& name, const Json& raw_spec) {
  // The document's metadata has only the name: the other fields (uid, managedFields, ...) come from the API server.
  const Json document = {{"apiVersion", kube::kDistTrainings.api_version()},
                         {"kind", kube::kDistTrainings.kind},
                         {"metadata", {{"name", name}}},
                         {"spec", raw_spec}};
  ASSIGN_OR_RETURN(job::ParsedJob parsed, job::ParseJob("", kube::Print(document), {}, job::ReadBy::kOperator,
                                                        job::SpecTraining::kUnlessProgram));
  Spec spec;
  ASSIGN_OR_RETURN(spec.document, kube::ParseJson(parsed.effective_json));
  spec.job = std::move(parsed.training);
  const Json& effective = spec.document["spec"];
  for (const Role role : kRoles) spec.roles[static_cast<size_t>(role)] = ReadRole(effective, role);
  spec.run_policy = ReadRunPolicy(effective);
  spec.tls = spec.job.tls;
  spec.tls_secret = spec.job.tls_secret;
  spec.gangs = kube::StringAt(effective, {"scheduling", "gang"}) != "Never";
  RETURN_IF_ERROR(CheckSpecForCluster(spec));
  return spec;
}

// `before` is null, or the parameter of ParseDistTraining.
Result<DistTraining> Parse(const Json& object, const DistTraining* before) {
  DistTraining training;
  ASSIGN_OR_RETURN(training.meta, kube::ParseObjectMeta(object));
  const std::string kind = kube::StringAt(object, {"kind"});
  if (!kind.empty() && kind != kube::kDistTrainings.kind) {
    return InvalidArgument("expected the kind DistTraining, found " + kind);
  }
  const Json* spec = kube::Find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) {
    return InvalidArgument("spec of DistTraining " + ToString(training.meta.key) + ": expected an object");
  }
  training.raw_spec = *spec;
  if (const Json* status = kube::Find(object, {"status"}); status != nullptr) training.status = StatusFromJson(*status);

  // The parsed spec depends only on raw_spec and the job's name.
  if (before != nullptr && before->meta.key.name == training.meta.key.name && before->raw_spec == training.raw_spec) {
    training.spec = before->spec;
    training.violations = before->violations;
    return training;
  }
  Result<Spec> parsed = ParseSpec(training.meta.key.name, training.raw_spec);
  if (parsed.ok()) {
    training.spec = *std::move(parsed);
  } else {
    training.violations = parsed.status().message();
  }
  return training;
}

}  // namespace

const char* ToString(Role role) {
  switch (role) {
    case Role::kPartitioner: return "partitioner";
    case Role::kServer: return "server";
    case Role::kSampler: return "sampler";
    case Role::kTrainer: return "trainer";
  }
  return "";
}

const char* FieldName(Role role) {
  switch (role) {
    case Role::kPartitioner: return "partitioner";
    case Role::kServer: return "servers";
    case Role::kSampler: return "samplers";
    case Role::kTrainer: return "trainers";
  }
  return "";
}

RunPolicy EffectiveRunPolicy(const DistTraining& training) {
  return training.spec ? training.spec->run_policy : ReadRunPolicy(training.raw_spec);
}

bool IsManagedByEspalier(const Json& raw_spec) {
  const std::string manager = kube::StringAt(raw_spec, {"runPolicy", "managedBy"});
  return manager.empty() || manager == kOperatorName;
}

Result<DistTraining> ParseDistTraining(const Json& object) { return Parse(object, nullptr); }

Result<DistTraining> ParseDistTraining(const Json& object, const DistTraining& before) {
  return Parse(object, &before);
}

}  // namespace espalier::ctl::api
