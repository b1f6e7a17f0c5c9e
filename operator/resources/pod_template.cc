// Merge applies the partial template recursively; FindListKey names the lists that are merged by a key. KeepPod then
// restores what the program depends on. Merge and KeepPod treat values of wrong types as opaque, because the template
// comes from the user and its schema is checked only by the API server.
#include "operator/resources/pod_template.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "operator/api/program_container.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

// Returns the field that identifies the items of a list, or nullopt if there is none: the list is then replaced as a
// whole, except tolerations, which are appended.
std::optional<std::string_view> FindListKey(std::string_view list) {
  for (const std::string_view by_name : {"containers", "initContainers", "volumes", "env", "imagePullSecrets"}) {
    if (list == by_name) return "name";
  }
  if (list == "volumeMounts") return "mountPath";
  if (list == "ports") return "containerPort";
  return std::nullopt;
}

Json* FindItem(Json& list, std::string_view key, const Json& value) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Json& item) {
    const Json* const field = kube::Find(item, {key});
    return field != nullptr && *field == value;
  });
  return found == list.end() ? nullptr : &*found;
}

Json Merge(const Json& base, const Json& change);

Json MergeLists(std::string_view name, const Json& base, const Json& change) {
  const std::optional<std::string_view> key = FindListKey(name);
  if (!key && name != "tolerations") return change;
  // A variable is a value or a reference, and a volume has one source, so their fields must not be mixed.
  const bool has_one_source = name == "volumes" || name == "env";
  Json merged = base;
  for (const Json& item : change) {
    const Json* const item_key = key ? kube::Find(item, {*key}) : nullptr;
    Json* const same = item_key == nullptr ? nullptr : FindItem(merged, *key, *item_key);
    if (same != nullptr) {
      *same = has_one_source ? item : Merge(*same, item);
    } else if (std::find(merged.begin(), merged.end(), item) == merged.end()) {
      merged.push_back(item);
    }
  }
  return merged;
}

Json Merge(const Json& base, const Json& change) {
  if (!base.is_object() || !change.is_object()) return change;
  Json merged = base;
  for (const auto& [name, value] : change.items()) {
    if (value.is_null()) continue;
    const auto old = base.find(name);
    if (old == base.end()) {
      merged[name] = value;
    } else if (old->is_array() && value.is_array()) {
      merged[name] = MergeLists(name, *old, value);
    } else {
      merged[name] = Merge(*old, value);
    }
  }
  return merged;
}

void KeepFields(const Json& ours, std::initializer_list<std::string_view> fields, Json* merged) {
  for (const std::string_view field : fields) {
    const auto own = ours.find(field);
    if (own != ours.end()) {
      (*merged)[std::string(field)] = *own;
    } else {
      merged->erase(std::string(field));
    }
  }
}

// Replaces each item of the list in `merged` by the item of `ours` with the same key, if `is_kept` returns true for the
// item of `ours`.
template <class IsKept>
void KeepItems(const Json& ours, std::string_view list, std::string_view key, Json* merged, IsKept is_kept) {
  const auto found = merged->find(list);
  if (found == merged->end() || !found->is_array()) return;  // a wrong type is rejected by the API server
  for (const Json& item : kube::ListAt(ours, {list})) {
    const Json* const item_key = is_kept(item) ? kube::Find(item, {key}) : nullptr;
    Json* const same = item_key == nullptr ? nullptr : FindItem(*found, key, *item_key);
    if (same != nullptr) *same = item;
  }
}

bool IsOperatorsVariable(const Json& variable) {
  const std::string name = kube::StringAt(variable, {"name"});
  return name.starts_with("ESPALIER_") || name.starts_with("AWS_") || name.ends_with("_NUM_THREADS") ||
         kube::Find(variable, {"valueFrom", "secretKeyRef"}) != nullptr;
}

void KeepProgram(const Json& ours, Json* merged) {
  KeepFields(ours, {"image", "command", "args", "terminationMessagePath", "terminationMessagePolicy"}, merged);
  KeepItems(ours, "env", "name", merged, IsOperatorsVariable);
  KeepItems(ours, "volumeMounts", "mountPath", merged, [](const Json&) { return true; });
}

// Restores the script's init container. With a restartPolicy it would be a sidecar, and the program would start before
// the script has been fetched.
void KeepScript(const Json& ours, Json* merged) {
  const auto containers = merged->find("initContainers");
  if (containers == merged->end() || !containers->is_array()) return;
  for (const Json& own : kube::ListAt(ours, {"initContainers"})) {
    Json* const script = kube::StringAt(own, {"name"}) == api::kScriptContainer
                             ? FindItem(*containers, "name", api::kScriptContainer)
                             : nullptr;
    if (script == nullptr) continue;
    KeepProgram(own, script);
    KeepFields(own, {"restartPolicy", "lifecycle", "startupProbe", "livenessProbe", "readinessProbe"}, script);
  }
}

void KeepPod(const Json& ours, size_t num_programs, Json* merged) {
  KeepFields(ours, {"restartPolicy", "subdomain"}, merged);
  KeepItems(ours, "volumes", "name", merged,
            [](const Json& volume) { return volume.contains("configMap") || volume.contains("secret"); });
  KeepScript(ours, merged);
  const Json& programs = kube::ListAt(ours, {"containers"});
  const auto containers = merged->find("containers");
  if (containers == merged->end() || !containers->is_array()) return;
  // The containers of the program come first; templates append others.
  for (size_t i = 0; i < std::min(num_programs, programs.size()); ++i) {
    const Json* const name = kube::Find(programs[i], {"name"});
    Json* const program = name == nullptr ? nullptr : FindItem(*containers, "name", *name);
    if (program != nullptr) KeepProgram(programs[i], program);
  }
}

}  // namespace

Json MergePodTemplate(const Json& ours, const Json& partial, size_t programs) {
  if (partial.is_null()) return ours;
  Json merged = Merge(ours, partial);
  if (!merged.is_object()) return merged;
  for (const char* const map : {"labels", "annotations"}) {
    const Json* const own = kube::Find(ours, {"metadata", map});
    Json& metadata = merged["metadata"];
    if (own == nullptr || !metadata.is_object()) continue;
    if (!own->is_object()) {  // a template that was merged earlier has a wrong type
      metadata[map] = *own;
    } else if (metadata[map].is_object()) {
      metadata[map].update(*own);
    }
  }
  const Json* const spec = kube::Find(ours, {"spec"});
  if (spec != nullptr && merged["spec"].is_object()) KeepPod(*spec, programs, &merged["spec"]);
  return merged;
}

}  // namespace espalier::ctl::resources
