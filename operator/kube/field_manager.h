// The manager that wrote a field of an object, by metadata.managedFields. The caches drop them (json.h): the object is
// read with ApiClient::GetWithManagedFields.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::kube {

struct FieldManager {
  std::string name;
  std::optional<WallTime> since;  // of the manager's last write of any field
  friend bool operator==(const FieldManager&, const FieldManager&) = default;
};

// Returns the manager of `field` ({"spec", "suspend"}), the one that wrote last where several share it; nullopt where
// none is named. Entries of subresources do not count.
std::optional<FieldManager> FindFieldManager(const Json& object, JsonPath field);

}  // namespace espalier::ctl::kube
