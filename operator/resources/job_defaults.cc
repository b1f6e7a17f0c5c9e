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

// Returns InvalidArgument if `field` of `object` is set to a value that is not an object. Nulls are ignored, as by the
// merge.
Status CheckMap(const Json& object, const std::string& path, const char* field) {
  const Json* const map = kube::Find(object, {field});
  if (map == nullptr || map->is_null() || map->is_object()) return {};
  return InvalidArgument(path + "." + field + ": expected an object");
}

// Returns InvalidArgument if `field` of `object` is set to a value that is not a list of objects. Nulls are ignored.
Status CheckList(const Json& object, const std::string& path, const char* field) {
  const Json* const items = kube::Find(object, {field});
  if (items == nullptr || items->is_null()) return {};
  if (!items->is_array()) return InvalidArgument(path + "." + field + ": expected a list");
  for (size_t i = 0; i < items->size(); ++i) {
    if ((*items)[i].is_object()) continue;
    return InvalidArgument(path + "." + field + "[" + std::to_string(i) + "]: expected an object");
  }
  return {};
}

// Checks those lists of each container whose items are changed one by one: by the merge, or when RolePod copies a
// program container.
Status CheckContainers(const Json& partial, const std::string& path, const char* list) {
  const Json& containers = kube::ListAt(partial, {"spec", list});
  for (size_t i = 0; i < containers.size(); ++i) {
    const std::string container = path + ".spec." + list + "[" + std::to_string(i) + "]";
    for (const char* const field : {"env", "ports", "volumeMounts"}) {
      RETURN_IF_ERROR(CheckList(containers[i], container, field));
    }
  }
  return {};
}

// Checks the fields of a template and the types of its lists. A value of another type would replace the list of the
// pod, and the API server would reject the pods of every job.
Status CheckTemplate(const Json& partial, const std::string& path) {
  RETURN_IF_ERROR(CheckObject(partial, path, {"metadata", "spec"}));
  for (const char* const part : {"metadata", "spec"}) RETURN_IF_ERROR(CheckMap(partial, path, part));
  if (const Json* const metadata = kube::Find(partial, {"metadata"})) {
    for (const char* const map : {"labels", "annotations"}) {
      RETURN_IF_ERROR(CheckMap(*metadata, path + ".metadata", map));
    }
  }
  if (const Json* const spec = kube::Find(partial, {"spec"})) {
    for (const char* const list : {"containers", "initContainers", "volumes", "imagePullSecrets", "tolerations"}) {
      RETURN_IF_ERROR(CheckList(*spec, path + ".spec", list));
    }
  }
  for (const char* const list : {"containers", "initContainers"}) {
    RETURN_IF_ERROR(CheckContainers(partial, path, list));
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
