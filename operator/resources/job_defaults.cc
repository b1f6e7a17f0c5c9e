#include "operator/resources/job_defaults.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace espalier::ctl::resources {
namespace {

using kube::Json;

std::string Joined(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

Status CheckObject(const Json& object, const std::string& path, std::initializer_list<std::string_view> fields) {
  if (!object.is_object()) return InvalidArgument(path + ": expected an object with any of " + Joined(fields));
  for (const auto& [name, value] : object.items()) {
    bool is_known = false;
    for (const std::string_view field : fields) is_known = is_known || name == field;
    if (!is_known) return InvalidArgument(path + "." + name + ": unknown field; expected " + Joined(fields));
  }
  return {};
}

// Checks the fields of a template, and that its lists are lists. Any other value would replace the list of the pod, and
// the API server would reject the pods of every job.
Status CheckTemplate(const Json& partial, const std::string& path) {
  RETURN_IF_ERROR(CheckObject(partial, path, {"metadata", "spec"}));
  const Json* const spec = kube::Find(partial, {"spec"});
  if (spec != nullptr && !spec->is_object()) return InvalidArgument(path + ".spec: expected an object");
  for (const char* list : {"containers", "initContainers", "volumes", "imagePullSecrets", "tolerations"}) {
    const Json* const items = kube::Find(partial, {"spec", list});
    if (items != nullptr && !items->is_array()) return InvalidArgument(path + ".spec." + list + ": expected a list");
  }
  for (const Json& container : kube::ListAt(partial, {"spec", "containers"})) {
    if (kube::StringAt(container, {"name"}).empty()) {
      return InvalidArgument(path + ".spec.containers: a container has no name; '" + kProgramContainer +
                             "' is the name of the program's container in every role");
    }
  }
  return {};
}

// Replaces kProgramContainer by the name of the role's container.
Json NameProgramContainer(Json partial, api::Role role) {
  const Json* const containers = kube::Find(partial, {"spec", "containers"});
  if (containers == nullptr) return partial;
  for (Json& container : partial["spec"]["containers"]) {
    if (kube::StringAt(container, {"name"}) == kProgramContainer) container["name"] = api::ToString(role);
  }
  return partial;
}

}  // namespace

Result<JobDefaults> ParseJobDefaults(const Json& document) {
  constexpr char kTemplate[] = "template";
  RETURN_IF_ERROR(CheckObject(document, "defaults", {kTemplate, "partitioner", "servers", "samplers", "trainers"}));
  JobDefaults defaults;
  defaults.document = document;
  const Json* const for_all_roles = kube::Find(document, {kTemplate});
  if (for_all_roles != nullptr) RETURN_IF_ERROR(CheckTemplate(*for_all_roles, "defaults.template"));
  for (const api::Role role : api::kRoles) {
    std::vector<Json>& templates = defaults.templates[static_cast<size_t>(role)];
    if (for_all_roles != nullptr) templates.push_back(NameProgramContainer(*for_all_roles, role));
    const std::string field = api::FieldName(role);
    const Json* const for_role = kube::Find(document, {field});
    if (for_role == nullptr) continue;
    RETURN_IF_ERROR(CheckObject(*for_role, "defaults." + field, {kTemplate}));
    const Json* const partial = kube::Find(*for_role, {kTemplate});
    if (partial == nullptr) continue;
    RETURN_IF_ERROR(CheckTemplate(*partial, "defaults." + field + ".template"));
    templates.push_back(NameProgramContainer(*partial, role));
  }
  return defaults;
}

}  // namespace espalier::ctl::resources
