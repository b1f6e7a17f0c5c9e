// Finds the manager that wrote a field of an object, by metadata.managedFields. The caches drop managedFields (json.h);
// read the object with ApiClient::GetWithManagedFields.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::kube {

struct FieldManager {
  std::string name;
  std::optional<WallTime> last_write;  // time of the manager's last write, which may be of another field
  friend bool operator==(const FieldManager&, const FieldManager&) = default;
};

// Returns the manager of `field`, for example {"spec", "suspend"}. If several managers own the field, returns the one
// with the latest write; if none does, nullopt. Entries of subresources are ignored.
std::optional<FieldManager> FindFieldManager(const Json& object, JsonPath field);

}  // namespace espalier::ctl::kube
