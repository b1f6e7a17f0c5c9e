// The administrator's policy on what pods of DistTrainings may use. Without a policy, a document may name any image,
// and any service account and Secret of its namespace.
//
// The rules apply to references that the document makes in its fields of roles, templates, storage and TLS. They are
// checked on the finished pod templates, and on the document's part of every role, even of a role without pods.
// References that the operator adds itself, such as its images, the job's own service account and its certificates, are
// allowed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"

namespace espalier::ctl::controller {

// A default-constructed policy allows everything.
struct PodPolicy {
  // Service accounts that are allowed besides the job's own; nullopt: all.
  std::optional<std::vector<std::string>> service_accounts;
  // Allowed registries, paths or images; nullopt: all. An entry allows its own name, and every image whose name
  // continues after the entry with '/', or with a tag (':') or digest ('@').
  std::optional<std::vector<std::string>> images;
  // "key=value" or "key": the label that a Secret must have; empty: none.
  std::string secret_label;
  // Allowed sources of program scripts: "s3://bucket/prefix", where the prefix ends at a '/'; "ConfigMap/NAME", or
  // "ConfigMap" for every ConfigMap of the job's namespace; nullopt: all.
  std::optional<std::vector<std::string>> scripts;
  // The storage.s3.endpoint required of jobs with a script from object storage, if `scripts` is set; empty: such a job
  // must set neither an endpoint nor a region.
  std::string script_endpoint;

  bool allows_everything() const { return !service_accounts && !images && secret_label.empty() && !scripts; }
};

// Returns whether the policy allows the image or the source of the script.
bool AllowsImage(const PodPolicy& policy, const std::string& image);
bool AllowsScript(const PodPolicy& policy, const job::Script& script);

// A reference to an object that a policy can forbid.
struct PodReference {
  enum class Kind { kServiceAccount, kImage, kSecret };
  Kind kind;
  std::string name;
  std::string path;  // "containers[0].image"
};
// Returns all references in a pod spec or a part of a document. References are found by field names, which also covers
// volume sources that this program does not know.
std::vector<PodReference> FindPodReferences(const kube::Json& json);

// Returns the labels of a Secret in the job's namespace, or nullopt if no Secret has that name.
using LabelsOfSecret =
    std::function<Result<std::optional<std::map<std::string, std::string>>>(const std::string& name)>;

// Returns the references that break the policy in `pod_spec`, which is the finished pod spec of `role` or its part of
// the document: one line each, with the path in the document. `labels_of_secret` is called only if the policy requires
// a label; its errors are returned.
Result<std::vector<std::string>> PodPolicyViolations(const PodPolicy& policy, const kube::Json& document_spec,
                                                     api::Role role, const kube::Json& pod_spec,
                                                     const LabelsOfSecret& labels_of_secret);

// Returns one line for each field of a valid document that breaks the policy on scripts: another source, another object
// store, or a setting by which another script could take the script's place.
std::vector<std::string> ScriptPolicyViolations(const PodPolicy& policy, const api::Spec& spec);

}  // namespace espalier::ctl::controller
