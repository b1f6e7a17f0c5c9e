#include "operator/controller/dry_run.h"

#include <cctype>

#include "operator/kube/api_error.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

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

// "spec.trainers.template"; "" for a child of no role.
std::string FieldOfRole(const kube::Json& child) {
  const std::string component = kube::StringAt(child, {"metadata", "labels", resources::kComponentLabel});
  for (const api::Role role : api::kRoles) {
    if (component == api::NameOf(role)) return std::string("spec.") + api::FieldOf(role) + ".template";
  }
  return "";
}

// What cannot be changed of another's object was not refused for what we would make.
Result<bool> HasAnothersName(client::ApiClient& client, const plan::ApplyChild& child,
                             const api::DistTraining& training) {
  const kube::ObjectKey key{training.meta.key.name_space, kube::StringAt(child.object, {"metadata", "name"})};
  const Result<kube::Json> there = client.Get(*child.resource, key);
  if (there.status().code() == StatusCode::kNotFound) return false;
  if (!there.ok()) return there.status().While("trying the templates");
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta, kube::ParseObjectMeta(*there));
  return !plan::IsOurs(meta, training);
}

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
                                      const api::DistTraining& training, const std::string& field_manager) {
  const int64_t generation = training.meta.generation;
  kube::ApplyOptions options;
  options.field_manager = field_manager;
  options.dry_run = true;
  for (const plan::ApplyChild& child : action.children) {
    const Status status = client.Apply(*child.resource, child.object, options).status();
    if (status.ok()) continue;
    plan::Observed::DryRun answer{.generation = generation, .error = status.message()};
    answer.is_forbidden = status.code() == StatusCode::kPermissionDenied || kube::IsOfAWebhookOutOfReach(status);
    if (answer.is_forbidden) return answer;
    if (status.code() != StatusCode::kInvalidArgument) return status.While("trying the templates");
    if (status.message().find(kNoDryRun) != std::string::npos) continue;
    ASSIGN_OR_RETURN(const bool is_others, HasAnothersName(client, child, training));
    if (is_others) continue;
    answer.error = InTermsOfDocument(child.object, status.message());
    return answer;
  }
  return plan::Observed::DryRun{.generation = generation};
}

}  // namespace espalier::ctl::controller
