// References are found by the names of fields, both in the finished pod spec and in the document. A reference in the
// finished spec that is also in the document is checked, and the message names its path in the document. Any other
// reference comes from the operator. These fields are references (*secret*: any field whose name contains "secret"):
//
//   image, image.reference                  an image (of a container, or of a volume of type `image`)
//   serviceAccountName, serviceAccount      a service account
//   *secret*: text, *secret*: {name: text}, *secret*: [{name: text}]
//                                           a Secret (secretName, secretKeyRef, secretRef, nodePublishSecretRef,
//                                           imagePullSecrets, attributes of CSI drivers, ...)
#include "operator/controller/pod_policy.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "operator/api/program_container.h"
#include "services/base/uri_scheme.h"
#include "services/job/checks/check_uris.h"

namespace espalier::ctl::controller {
namespace {

using kube::Json;
using Kind = PodReference::Kind;

// Fields that contain no references. Their keys may be any text, so they are not searched.
constexpr std::string_view kSkippedFields[] = {"labels", "annotations", "matchLabels", "nodeSelector",
                                               "limits", "requests",    "affinity"};

// Returns whether the key contains "secret", in upper or lower case.
bool ContainsSecret(std::string_view key) {
  constexpr std::string_view kWord = "secret";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(key.begin(), key.end(), kWord.begin(), kWord.end(), same) != key.end();
}

class Finder {
 public:
  std::vector<PodReference> Find(const Json& json) && {
    Walk(json, "", /*in_secret=*/false, /*in_image=*/false);
    return std::move(found_);
  }

 private:
  void Add(Kind kind, const Json& value, const std::string& path) {
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
      found_.push_back({kind, value.get<std::string>(), path});
    }
  }

  // `in_secret`: `json` is the value of a field for a Secret. `in_image`: `json` is the value of a field `image`. An
  // item of an array counts as the value of the array's field.
  void Walk(const Json& json, const std::string& path, bool in_secret, bool in_image) {
    if (json.is_array()) {
      for (size_t i = 0; i < json.size(); ++i) {
        Walk(json[i], path + "[" + std::to_string(i) + "]", in_secret, in_image);
      }
      return;
    }
    if (!json.is_object()) return;
    for (const auto& [key, value] : json.items()) {
      if (std::find(std::begin(kSkippedFields), std::end(kSkippedFields), key) != std::end(kSkippedFields)) continue;
      const std::string below = path.empty() ? key : path + "." + key;
      const bool is_secret = ContainsSecret(key);
      if (key == "image" || (in_image && key == "reference")) Add(Kind::kImage, value, below);
      if (key == "serviceAccountName" || key == "serviceAccount") Add(Kind::kServiceAccount, value, below);
      if (is_secret || (in_secret && key == "name")) Add(Kind::kSecret, value, below);
      Walk(value, below, is_secret, key == "image");
    }
  }

  std::vector<PodReference> found_;
};

// Returns the path of the reference in the document, or nullopt if the document does not contain it. Searches the
// role's own fields first.
std::optional<std::string> FindInDocument(const Json& spec, api::Role role, const PodReference& wanted) {
  const std::string field = api::FieldName(role);
  const auto look = [&wanted](const Json& part, const std::string& prefix) -> std::optional<std::string> {
    for (const PodReference& reference : FindPodReferences(part)) {
      if (reference.kind == wanted.kind && reference.name == wanted.name) return prefix + reference.path;
    }
    return std::nullopt;
  };
  if (const Json* of_role = kube::Find(spec, {field}); of_role != nullptr) {
    if (auto path = look(*of_role, "spec." + field + ".")) return path;
  }
  return look(spec, "spec.");
}

bool HasLabel(const std::map<std::string, std::string>& labels, const std::string& wanted) {
  const size_t equals = wanted.find('=');
  const auto label = labels.find(wanted.substr(0, equals));
  if (label == labels.end()) return false;
  return equals == std::string::npos || label->second == wanted.substr(equals + 1);
}

Result<bool> AllowsSecret(const PodPolicy& policy, const std::string& name, const ReadSecretLabels& read_labels) {
  if (policy.secret_label.empty()) return true;
  if (!job::ObjectNameProblem(name).empty()) return false;  // not a valid name, so no Secret has it
  ASSIGN_OR_RETURN(const auto labels, read_labels(name));
  return labels && HasLabel(*labels, policy.secret_label);
}

bool AllowsAccount(const PodPolicy& policy, const std::string& name) {
  if (!policy.service_accounts) return true;
  return std::find(policy.service_accounts->begin(), policy.service_accounts->end(), name) !=
         policy.service_accounts->end();
}

// Returns how the reference breaks the policy, or "".
Result<std::string> FindViolation(const PodPolicy& policy, const PodReference& reference,
                                  const ReadSecretLabels& read_labels) {
  const std::string quoted = "'" + reference.name + "'";
  switch (reference.kind) {
    case Kind::kServiceAccount:
      if (AllowsAccount(policy, reference.name)) return std::string();
      return "the service account " + quoted + " is not allowed here: omit it, so that the job's own is used" +
             (policy.service_accounts->empty() ? ""
                                               : ", or use one of " + absl::StrJoin(*policy.service_accounts, ", "));
    case Kind::kImage:
      if (AllowsImage(policy, reference.name)) return std::string();
      return "the image " + quoted + " is not allowed here: " +
             (policy.images->empty() ? "omit it, so that the operator's is used"
                                     : "expected an image from " + absl::StrJoin(*policy.images, ", "));
    case Kind::kSecret: {
      ASSIGN_OR_RETURN(const bool is_allowed, AllowsSecret(policy, reference.name, read_labels));
      if (is_allowed) return std::string();
      return "the Secret " + quoted + " is not allowed here: it does not exist, or lacks the label " +
             policy.secret_label;
    }
  }
  return std::string();
}

}  // namespace

bool AllowsImage(const PodPolicy& policy, const std::string& image) {
  if (!policy.images) return true;
  return std::any_of(policy.images->begin(), policy.images->end(), [&image](const std::string& allowed) {
    if (!image.starts_with(allowed)) return false;
    const std::string_view rest = std::string_view(image).substr(allowed.size());
    if (rest.empty() || allowed.ends_with('/') || rest.front() == '/') return true;
    // The rest must be a tag or digest. A rest such as ":5000/x" begins with the port of a different registry.
    return (rest.front() == ':' || rest.front() == '@') && rest.find('/') == std::string_view::npos;
  });
}

bool AllowsScript(const PodPolicy& policy, const job::Script& script) {
  if (!policy.scripts) return true;
  static constexpr char kConfigMap[] = "ConfigMap";
  return std::any_of(policy.scripts->begin(), policy.scripts->end(), [&script](const std::string& allowed) {
    if (!script.config_map.empty()) {
      return allowed == kConfigMap || allowed == std::string(kConfigMap) + "/" + script.config_map;
    }
    std::string prefix = CanonicalUri(allowed);
    if (!prefix.starts_with("s3://")) return false;
    if (script.uri == prefix) return true;
    if (!prefix.ends_with('/')) prefix += '/';
    return script.uri.starts_with(prefix);
  });
}

std::vector<std::string> FindScriptPolicyViolations(const PodPolicy& policy, const api::Spec& spec) {
  std::vector<std::string> violations;
  if (!policy.scripts || !spec.job.program || !spec.job.program->script) return violations;
  const job::Script& script = *spec.job.program->script;
  const std::string field = "spec.trainers.program.script";
  if (!AllowsScript(policy, script)) {
    violations.push_back(field + (script.config_map.empty() ? ".uri" : ".configMapKeyRef.name") + ": the script '" +
                         script.Describe() + "' is not allowed here: " +
                         (policy.scripts->empty() ? "use a program in an image"
                                                  : "expected a script from " + absl::StrJoin(*policy.scripts, ", ")));
  }
  const auto without_slash = [](const std::string& url) {
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  };
  if (script.config_map.empty() && without_slash(spec.job.s3.endpoint) != without_slash(policy.script_endpoint)) {
    violations.push_back("spec.storage.s3.endpoint: '" + spec.job.s3.endpoint +
                         "' is not allowed here for a job with a script: " +
                         (policy.script_endpoint.empty() ? "omit it" : "expected " + policy.script_endpoint));
  }
  // Without an endpoint, the region selects the AWS partition. In the AWS partitions of China and of GovCloud, the same
  // bucket name means another bucket.
  if (script.config_map.empty() && policy.script_endpoint.empty() && !spec.job.s3.region.empty()) {
    violations.push_back("spec.storage.s3.region: '" + spec.job.s3.region +
                         "' is not allowed here for a job with a script: omit it");
  }
  for (const api::Role role : {api::Role::kPartitioner, api::Role::kTrainer}) {
    const Json& partial = spec.role(role).pod_template;
    const std::string template_path = std::string("spec.") + api::FieldName(role) + ".template.spec.";
    const Json& init_containers = kube::ListAt(partial, {"spec", "initContainers"});
    for (size_t i = 0; i < init_containers.size(); ++i) {
      if (kube::StringAt(init_containers[i], {"name"}) != api::kScriptContainer) continue;
      violations.push_back(template_path + "initContainers[" + std::to_string(i) +
                           "]: the init container that fetches the script must not be changed here: omit it");
    }
    // These fields can make the name of the object store resolve to another address.
    for (const char* const name : {"hostAliases", "dnsConfig", "dnsPolicy"}) {
      if (kube::Find(partial, {"spec", name}) == nullptr) continue;
      violations.push_back(template_path + name + ": is not allowed here for a job with a script: omit it");
    }
  }
  return violations;
}

std::vector<PodReference> FindPodReferences(const Json& json) { return Finder().Find(json); }

Result<std::vector<std::string>> FindPodPolicyViolations(const PodPolicy& policy, const Json& document_spec,
                                                         api::Role role, const Json& pod_spec,
                                                         const ReadSecretLabels& read_labels) {
  std::vector<std::string> violations;
  if (policy.allows_everything()) return violations;
  std::set<std::pair<Kind, std::string>> seen;
  for (const PodReference& reference : FindPodReferences(pod_spec)) {
    if (!seen.emplace(reference.kind, reference.name).second) continue;
    const std::optional<std::string> path = FindInDocument(document_spec, role, reference);
    if (!path) continue;  // the operator has added it
    ASSIGN_OR_RETURN(const std::string violation, FindViolation(policy, reference, read_labels));
    if (!violation.empty()) violations.push_back(*path + ": " + violation);
  }
  return violations;
}

}  // namespace espalier::ctl::controller
