#include "operator/kube/field_manager.h"

#include "operator/kube/condition.h"

namespace espalier::ctl::kube {
namespace {

// Returns whether the entry of managedFields contains the field. Its fieldsV1 has a key "f:<name>" for each field.
bool Owns(const Json& entry, JsonPath field) {
  const Json* at = Find(entry, {"fieldsV1"});
  for (const std::string_view name : field) {
    if (at == nullptr) return false;
    const std::string key = "f:" + std::string(name);
    at = Find(*at, {key});
  }
  return at != nullptr;
}

}  // namespace

std::optional<FieldManager> FindFieldManager(const Json& object, JsonPath field) {
  std::optional<FieldManager> last;
  for (const Json& entry : ListAt(object, {"metadata", "managedFields"})) {
    if (!StringAt(entry, {"subresource"}).empty() || !Owns(entry, field)) continue;
    FieldManager manager{.name = StringAt(entry, {"manager"}), .last_write = TimeAt(entry, {"time"})};
    if (!last || manager.last_write >= last->last_write) last = std::move(manager);
  }
  return last;
}

}  // namespace espalier::ctl::kube
