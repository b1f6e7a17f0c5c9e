// First the finished templates and every role's part of the document are checked against the pod policy, then each
// child is sent as a server-side apply with dryRun. The API server's errors name fields of the child
// (spec.template.spec...), not of the document. ToDocumentPath converts such a path: to a field of the role if that
// field sets the value, else to a field of the role's template.
#include "operator/controller/dry_run.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "operator/kube/api_error.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

using Refusal = plan::Observed::DryRun::Refusal;

constexpr std::string_view kTemplate = "spec.template";
// The API server's error for an admission webhook with side effects (sideEffects: Some or Unknown).
constexpr const char* kNoDryRun = "does not support dry run";

bool IsPathCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._-[]=/").find(c) != std::string_view::npos;
}

// Returns the position of the bracket that closes the one at `open`, or npos. Keys of list-maps are quoted after a '='
// and may contain any character, as in env[name="a]b"]; in them, a backslash escapes the next character.
size_t FindClosingBracket(const std::string& text, size_t open) {
  bool in_quotes = false;
  for (size_t i = open + 1; i < text.size(); ++i) {
    if (in_quotes && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"' && (in_quotes || text[i - 1] == '=')) {
      in_quotes = !in_quotes;
    } else if (text[i] == ']' && !in_quotes) {
      return i;
    }
  }
  return std::string::npos;
}

// Returns the end of the path that begins at `from`.
size_t FindPathEnd(const std::string& text, size_t from) {
  for (size_t i = from; i < text.size(); ++i) {
    if (text[i] == '[') {
      i = std::min(FindClosingBracket(text, i), text.size() - 1);
    } else if (!IsPathCharacter(text[i])) {
      return i;
    }
  }
  return text.size();
}

std::optional<api::Role> FindRole(const kube::Json& child) {
  const std::string component = kube::StringAt(child, {"metadata", "labels", resources::kComponentLabel});
  for (const api::Role role : api::kRoles) {
    if (component == api::ToString(role)) return role;
  }
  return std::nullopt;
}

// Returns all violations of the policy, one line each, so that the user sees all of them at once. The document's part
// of every role is checked, even if the role has no pods now. Otherwise a user could evade the policy: status.images
// keeps the role's image after it was removed from the document, and later pods of the role would get this image
// unchecked, because only images in the document are checked.
Result<std::string> FindPolicyViolations(client::ApiClient& client, const plan::DryRunTemplates& action,
                                         const api::DistTraining& training, const PodPolicy& policy) {
  const ReadSecretLabels read_labels =
      [&](const std::string& name) -> Result<std::optional<std::map<std::string, std::string>>> {
    const Result<kube::Json> secret = client.Get(kube::kSecrets, {training.meta.key.name_space, name});
    if (secret.status().code() == StatusCode::kNotFound) return std::optional<std::map<std::string, std::string>>();
    if (!secret.ok()) return secret.status().While("reading the labels of Secret " + name);
    ASSIGN_OR_RETURN(kube::ObjectMeta meta, kube::ParseObjectMeta(*secret));
    return std::optional(std::move(meta.labels));
  };
  std::vector<std::string> lines;  // without duplicates, because several roles may have the same violation
  const auto check = [&](api::Role role, const kube::Json& json) -> Status {
    ASSIGN_OR_RETURN(const std::vector<std::string> violations,
                     FindPodPolicyViolations(policy, training.raw_spec, role, json, read_labels));
    for (const std::string& violation : violations) {
      if (std::find(lines.begin(), lines.end(), violation) == lines.end()) lines.push_back(violation);
    }
    return {};
  };
  for (const plan::ApplyChild& child : action.children) {
    const std::optional<api::Role> role = FindRole(child.object);
    const kube::Json* const spec = kube::Find(child.object, {"spec", "template", "spec"});
    if (!role || spec == nullptr) continue;
    RETURN_IF_ERROR(check(*role, *spec));
  }
  for (const api::Role role : api::kRoles) {
    const kube::Json* const part = kube::Find(training.raw_spec, {api::FieldName(role)});
    if (part != nullptr) RETURN_IF_ERROR(check(role, *part));
  }
  if (training.spec) {
    const std::vector<std::string> script_violations = FindScriptPolicyViolations(policy, *training.spec);
    lines.insert(lines.end(), script_violations.begin(), script_violations.end());
  }
  return absl::StrJoin(lines, "\n");
}

// Returns the name of the list item that `selector` selects, or "" if an index selects no item with a name. The
// selector is the text between brackets in a path: an index ("2"), or a name in the notation of server-side apply
// ("name=\"x\""), which is returned even if no item has it.
std::string FindItemName(const kube::Json& list, const std::string& selector) {
  constexpr std::string_view kByName = "name=\"";
  if (selector.starts_with(kByName)) return selector.substr(kByName.size(), selector.size() - kByName.size() - 1);
  const bool is_number =
      !selector.empty() && selector.size() < 7 && selector.find_first_not_of("0123456789") == std::string::npos;
  const size_t index = is_number ? std::stoul(selector) : list.size();
  return index < list.size() ? kube::StringAt(list[index], {"name"}) : "";
}

const kube::Json* FindItemByName(const kube::Json& list, const std::string& name) {
  for (const kube::Json& item : list) {
    if (kube::StringAt(item, {"name"}) == name) return &item;
  }
  return nullptr;
}

// A path to or below a list item, such as ".containers[0].image".
struct ItemPath {
  std::string name;  // of the item: "trainer"
  std::string rest;  // the path below the item: ".image"
};
// Splits `path` after the list item at its beginning. Returns nullopt if the path does not begin with an item of
// `list`, the list named `list_name` ("containers").
std::optional<ItemPath> SplitItemPath(const std::string& path, const std::string& list_name, const kube::Json& list) {
  const std::string begin = "." + list_name + "[";
  if (!path.starts_with(begin)) return std::nullopt;
  const size_t end = FindClosingBracket(path, begin.size() - 1);
  if (end == std::string::npos) return std::nullopt;
  const std::string name = FindItemName(list, path.substr(begin.size(), end - begin.size()));
  if (name.empty()) return std::nullopt;
  return ItemPath{name, path.substr(end + 1)};
}

std::string FormatItemPath(const std::string& list, const ItemPath& item) {
  return "." + list + "[name=\"" + item.name + "\"]" + item.rest;
}

// Returns whether `field` is the first field of `path`, a path below a pod or container (".resources.limits").
bool BeginsWithField(const std::string& path, const std::string& field) {
  return path.starts_with("." + field) &&
         (path.size() == field.size() + 1 || path[field.size() + 1] == '.' || path[field.size() + 1] == '[');
}

// Finds the field of spec.<role> that sets the value at `path` in the role's container, and returns the field's path
// below spec.<role>. Returns nullopt if no field sets the value, or if the role's template sets it too. (A template
// cannot set the image.)
std::optional<std::string> FindContainerField(const kube::Json& container, const api::RoleSpec& role,
                                              const std::string& path) {
  const kube::Json* const template_container =
      FindItemByName(kube::ListAt(role.pod_template, {"spec", "containers"}), kube::StringAt(container, {"name"}));
  const auto is_in_template = [&](const char* field) {
    return template_container != nullptr && template_container->contains(field);
  };
  if (BeginsWithField(path, "resources") && !role.resources.empty() && !is_in_template("resources")) return path;
  if (BeginsWithField(path, "image") && !role.image.empty()) return path;
  const auto variable = SplitItemPath(path, "env", kube::ListAt(container, {"env"}));
  if (variable && FindItemByName(role.env, variable->name) != nullptr && !is_in_template("env")) {
    return FormatItemPath("env", *variable);
  }
  return std::nullopt;
}

// Like FindContainerField, for a path of the pod spec.
std::optional<std::string> FindPodField(const api::RoleSpec& role, const std::string& path) {
  const auto is_from = [&](const char* field, bool is_set) {
    return is_set && BeginsWithField(path, field) && kube::Find(role.pod_template, {"spec", field}) == nullptr;
  };
  const bool is_of_role = is_from("nodeSelector", !role.node_selector.empty()) ||
                          is_from("tolerations", !role.tolerations.empty()) ||
                          is_from("serviceAccountName", !role.service_account_name.empty());
  return is_of_role ? std::optional(path) : std::nullopt;
}

// Converts `path`, a path below the pod template such as ".spec.containers[0].resources", to a path in the document.
std::string ToDocumentPath(const kube::Json& child, const api::DistTraining& training, api::Role role,
                           const std::string& path) {
  constexpr std::string_view kSpec = ".spec";
  const std::string field = std::string("spec.") + api::FieldName(role);
  if (!path.starts_with(kSpec)) return field + ".template" + path;
  const std::string pod_path = path.substr(kSpec.size());
  const kube::Json& containers = kube::ListAt(child, {"spec", "template", "spec", "containers"});
  if (const auto container = SplitItemPath(pod_path, "containers", containers)) {
    const kube::Json* const found = FindItemByName(containers, container->name);
    if (training.spec && found != nullptr && container->name == api::ToString(role)) {
      if (const auto below = FindContainerField(*found, training.spec->role(role), container->rest))
        return field + *below;
    }
    return field + ".template.spec" + FormatItemPath("containers", *container);
  }
  if (training.spec) {
    if (const auto below = FindPodField(training.spec->role(role), pod_path)) return field + *below;
  }
  return field + ".template" + path;
}

// Sends dry runs.
class DryRunner {
 public:
  DryRunner(client::ApiClient& client, const api::DistTraining& training, const std::string& field_manager)
      : client_(client), training_(training) {
    options_.field_manager = field_manager;
    options_.dry_run = true;
  }

  // Returns the refusal of the child, if any; Refusal::kName if an object of another owner has its name.
  Result<plan::Observed::DryRun> Run(const plan::ApplyChild& child) {
    ASSIGN_OR_RETURN(plan::Observed::DryRun answer, Send(child));
    if (answer.refusal != Refusal::kTemplate) return answer;
    // If an object of another owner has the name, the refusal may be about changing that object, not about this
    // template.
    const kube::ObjectKey key{training_.meta.key.name_space, kube::StringAt(child.object, {"metadata", "name"})};
    const Result<kube::Json> there = client_.Get(*child.resource, key);
    // No object has the name now. The refusal may have been about one that has just been deleted, so the child is sent
    // again.
    if (there.status().code() == StatusCode::kNotFound) return Send(child);
    if (!there.ok()) return there.status().While("dry run of the templates");
    ASSIGN_OR_RETURN(const kube::ObjectMeta meta, kube::ParseObjectMeta(*there));
    if (plan::IsOurs(meta, training_)) return answer;
    return MakeAnswer(Refusal::kName,
                      std::string(child.resource->kind) + " " + key.name + " exists and is not this job's");
  }

 private:
  plan::Observed::DryRun MakeAnswer(Refusal refusal, std::string error) const {
    return {.generation = training_.meta.generation, .refusal = refusal, .error = std::move(error)};
  }

  Result<plan::Observed::DryRun> Send(const plan::ApplyChild& child) {
    const Status status = client_.Apply(*child.resource, child.object, options_).status();
    if (status.ok()) return MakeAnswer(Refusal::kNone, "");
    if (status.code() == StatusCode::kPermissionDenied) return MakeAnswer(Refusal::kForbidden, status.message());
    if (kube::IsWebhookUnreachable(status)) return MakeAnswer(Refusal::kWebhook, status.message());
    if (status.code() != StatusCode::kInvalidArgument) return status.While("dry run of the templates");
    if (status.message().find(kNoDryRun) != std::string::npos) return MakeAnswer(Refusal::kNone, status.message());
    return MakeAnswer(Refusal::kTemplate, TranslateToDocument(child.object, training_, status.message()));
  }

  client::ApiClient& client_;
  const api::DistTraining& training_;
  kube::ApplyOptions options_;
};

}  // namespace

std::string TranslateToDocument(const kube::Json& child, const api::DistTraining& training,
                                const std::string& message) {
  const std::optional<api::Role> role = FindRole(child);
  if (!role) return message;
  const size_t at = message.find(kTemplate);
  if (at == std::string::npos) return std::string("spec.") + api::FieldName(*role) + ".template: " + message;
  const size_t end = FindPathEnd(message, at);
  const std::string path =
      ToDocumentPath(child, training, *role, message.substr(at + kTemplate.size(), end - at - kTemplate.size()));
  // The path is in quotes in messages such as: strict decoding error: unknown field "spec.template.spec.foo"
  if (end < message.size() && message[end] == '"') return path + ": unknown field";
  const size_t reason = message.find_first_not_of(": ", end);
  return path + ": " + (reason == std::string::npos ? message : message.substr(reason));
}

Result<plan::Observed::DryRun> DryRun(client::ApiClient& client, const plan::DryRunTemplates& action,
                                      const api::DistTraining& training, const std::string& field_manager,
                                      const PodPolicy& policy) {
  ASSIGN_OR_RETURN(std::string forbidden, FindPolicyViolations(client, action, training, policy));
  if (!forbidden.empty()) {
    return plan::Observed::DryRun{
        .generation = training.meta.generation, .refusal = Refusal::kPodRules, .error = std::move(forbidden)};
  }
  DryRunner runner(client, training, field_manager);
  plan::Observed::DryRun all{.generation = training.meta.generation};
  for (const plan::ApplyChild& child : action.children) {
    ASSIGN_OR_RETURN(plan::Observed::DryRun answer, runner.Run(child));
    if (answer.refusal != Refusal::kNone) return answer;
    if (!answer.error.empty()) all.error = std::move(answer.error);
  }
  return all;
}

}  // namespace espalier::ctl::controller
