#include "operator/controller/dry_run.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "operator/kube/api_error.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

using Refusal = plan::Observed::DryRun::Refusal;

constexpr std::string_view kTemplate = "spec.template";
// admission webhook "x" does not support dry run: one with side effects (sideEffects: Some, Unknown).
constexpr const char* kNoDryRun = "does not support dry run";

bool IsOfPath(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._-[]=/").find(c) != std::string_view::npos;
}

// Where the path that begins at `from` ends: keys of list-maps are quoted and may hold anything,
// as in containers[name="a:b"].
size_t EndOfPath(const std::string& text, size_t from) {
  bool in_brackets = false;
  for (size_t i = from; i < text.size(); ++i) {
    if (text[i] == '[') in_brackets = true;
    if (text[i] == ']') in_brackets = false;
    if (!in_brackets && !IsOfPath(text[i])) return i;
  }
  return text.size();
}

std::optional<api::Role> RoleOfChild(const kube::Json& child) {
  const std::string component = kube::StringAt(child, {"metadata", "labels", resources::kComponentLabel});
  for (const api::Role role : api::kRoles) {
    if (component == api::NameOf(role)) return role;
  }
  return std::nullopt;
}

// "spec.trainers.template"; "" for a child of no role.
std::string FieldOfRole(const kube::Json& child) {
  const std::optional<api::Role> role = RoleOfChild(child);
  return role ? std::string("spec.") + api::FieldOf(*role) + ".template" : "";
}

// Of all templates at once, so that nobody mends one line after the other.
Result<std::string> ForbiddenReferences(client::ApiClient& client, const plan::DryRunTemplates& action,
                                        const api::DistTraining& training, const PodPolicy& policy) {
  const LabelsOfSecret labels_of_secret =
      [&](const std::string& name) -> Result<std::optional<std::map<std::string, std::string>>> {
    const Result<kube::Json> secret = client.Get(kube::kSecrets, {training.meta.key.name_space, name});
    if (secret.status().code() == StatusCode::kNotFound) return std::optional<std::map<std::string, std::string>>();
    if (!secret.ok()) return secret.status().While("looking at the labels of Secret " + name);
    ASSIGN_OR_RETURN(kube::ObjectMeta meta, kube::ParseObjectMeta(*secret));
    return std::optional(std::move(meta.labels));
  };
  std::vector<std::string> lines;  // several roles may use the same
  for (const plan::ApplyChild& child : action.children) {
    const std::optional<api::Role> role = RoleOfChild(child.object);
    const kube::Json* const spec = kube::Find(child.object, {"spec", "template", "spec"});
    if (!role || spec == nullptr) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> violations,
                     PodPolicyViolations(policy, training.raw_spec, *role, *spec, labels_of_secret));
    for (const std::string& violation : violations) {
      if (std::find(lines.begin(), lines.end(), violation) == lines.end()) lines.push_back(violation);
    }
  }
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "\n") + line;
  return all;
}

// Asks about one child after the other.
class Attempt {
 public:
  Attempt(client::ApiClient& client, const api::DistTraining& training, const std::string& field_manager)
      : client_(client), training_(training) {
    options_.field_manager = field_manager;
    options_.dry_run = true;
  }

  // What keeps the child from being made; Refusal::kName where another's object stands in its place.
  Result<plan::Observed::DryRun> Of(const plan::ApplyChild& child) {
    ASSIGN_OR_RETURN(plan::Observed::DryRun answer, Ask(child));
    if (answer.refusal != Refusal::kTemplate) return answer;
    // What cannot be changed of another's object was not refused for what we would make.
    const kube::ObjectKey key{training_.meta.key.name_space, kube::StringAt(child.object, {"metadata", "name"})};
    const Result<kube::Json> there = client_.Get(*child.resource, key);
    // It may have been another's that has just gone.
    if (there.status().code() == StatusCode::kNotFound) return Ask(child);
    if (!there.ok()) return there.status().While("trying the templates");
    ASSIGN_OR_RETURN(const kube::ObjectMeta meta, kube::ParseObjectMeta(*there));
    if (plan::IsOurs(meta, training_)) return answer;
    return Answer(Refusal::kName, std::string(child.resource->kind) + " " + key.name + " exists and is not this job's");
  }

 private:
  plan::Observed::DryRun Answer(Refusal refusal, std::string error) const {
    return {.generation = training_.meta.generation, .refusal = refusal, .error = std::move(error)};
  }

  Result<plan::Observed::DryRun> Ask(const plan::ApplyChild& child) {
    const Status status = client_.Apply(*child.resource, child.object, options_).status();
    if (status.ok()) return Answer(Refusal::kNone, "");
    if (status.code() == StatusCode::kPermissionDenied) return Answer(Refusal::kForbidden, status.message());
    if (kube::IsOfAWebhookOutOfReach(status)) return Answer(Refusal::kWebhook, status.message());
    if (status.code() != StatusCode::kInvalidArgument) return status.While("trying the templates");
    if (status.message().find(kNoDryRun) != std::string::npos) return Answer(Refusal::kNone, status.message());
    return Answer(Refusal::kTemplate, InTermsOfDocument(child.object, status.message()));
  }

  client::ApiClient& client_;
  const api::DistTraining& training_;
  kube::ApplyOptions options_;
};

}  // namespace

std::string InTermsOfDocument(const kube::Json& child, const std::string& message) {
  const std::string field = FieldOfRole(child);
  if (field.empty()) return message;
  const size_t at = message.find(kTemplate);
  if (at == std::string::npos) return field + ": " + message;
  const size_t end = EndOfPath(message, at);
  const std::string path = field + message.substr(at + kTemplate.size(), end - at - kTemplate.size());
  // strict decoding error: unknown field "spec.template.spec.foo"
  if (end < message.size() && message[end] == '"') return path + ": unknown field";
  const size_t reason = message.find_first_not_of(": ", end);
  return path + ": " + (reason == std::string::npos ? message : message.substr(reason));
}

Result<plan::Observed::DryRun> DryRun(client::ApiClient& client, const plan::DryRunTemplates& action,
                                      const api::DistTraining& training, const std::string& field_manager,
                                      const PodPolicy& policy) {
  ASSIGN_OR_RETURN(std::string forbidden, ForbiddenReferences(client, action, training, policy));
  if (!forbidden.empty()) {
    return plan::Observed::DryRun{
        .generation = training.meta.generation, .refusal = Refusal::kNotAllowed, .error = std::move(forbidden)};
  }
  Attempt attempt(client, training, field_manager);
  plan::Observed::DryRun all{.generation = training.meta.generation};
  for (const plan::ApplyChild& child : action.children) {
    ASSIGN_OR_RETURN(plan::Observed::DryRun answer, attempt.Of(child));
    if (answer.refusal != Refusal::kNone) return answer;
    if (!answer.error.empty()) all.error = std::move(answer.error);
  }
  return all;
}

}  // namespace espalier::ctl::controller
