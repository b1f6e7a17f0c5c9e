// The administrator's policy on what pods of DistTrainings may use. Without a policy, a document may name any image,
// and any service account and Secret of its namespace.
//
// The rules apply to references in the document: in the fields of the roles, in templates, storage and TLS. They are
// checked both in the finished pod templates and in the document's part for each role, even for a role without pods.
// References that the operator adds itself are allowed: its images, the job's own service account and its certificates.
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
  // Allowed registries, paths or images; nullopt: all. An entry allows the image of exactly this name, and every image
  // whose name is the entry followed by '/' and a path, or by a tag (":...") or digest ("@..."). An entry that ends
  // with '/' allows every image whose name begins with it.
  std::optional<std::vector<std::string>> images;
  // "key=value" or "key": the label that a Secret must have; empty: none.
  std::string secret_label;
  // Allowed sources of program scripts: "s3://bucket/prefix" for this object and all objects below "prefix/";
  // "ConfigMap/NAME", or "ConfigMap" for every ConfigMap of the job's namespace; nullopt: all.
  std::optional<std::vector<std::string>> scripts;
  // If `scripts` is set: the storage.s3.endpoint that jobs with a script from object storage must have. Empty: such
  // jobs must set neither an endpoint nor a region.
  std::string script_endpoint;

  bool allows_everything() const { return !service_accounts && !images && secret_label.empty() && !scripts; }
};

// Returns whether the policy allows the image.
bool AllowsImage(const PodPolicy& policy, const std::string& image);
// Returns whether the policy allows the source of the script.
bool AllowsScript(const PodPolicy& policy, const job::Script& script);

// A reference to a service account, image or Secret, which a policy can forbid.
struct PodReference {
  enum class Kind { kServiceAccount, kImage, kSecret };
  Kind kind;
  std::string name;
  std::string path;  // of the field, relative to the JSON that was searched: "containers[0].image"
};
// Returns all references in a pod spec or a part of a document. References are found by field names, so that they are
// also found in kinds of volumes that the operator does not know.
std::vector<PodReference> FindPodReferences(const kube::Json& json);

// Returns the labels of a Secret in the job's namespace, or nullopt if no Secret has that name.
using ReadSecretLabels =
    std::function<Result<std::optional<std::map<std::string, std::string>>>(const std::string& name)>;

// Returns one line for each reference in `pod_spec` that breaks the policy, with the reference's path in the document;
// only one line if the same name is referenced several times. `pod_spec` is the finished pod spec of `role`, or the
// role's part of the document `document_spec`. References that are not in the document are skipped. `read_labels` is
// called only if the policy requires a label; its errors are returned.
Result<std::vector<std::string>> FindPodPolicyViolations(const PodPolicy& policy, const kube::Json& document_spec,
                                                         api::Role role, const kube::Json& pod_spec,
                                                         const ReadSecretLabels& read_labels);

// Returns one line for each field of a valid document that breaks the policy on scripts: a source or an object store
// that is not allowed, or a setting by which another script could take the script's place.
std::vector<std::string> FindScriptPolicyViolations(const PodPolicy& policy, const api::Spec& spec);

}  // namespace espalier::ctl::controller
