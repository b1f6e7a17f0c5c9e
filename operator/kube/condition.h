// One entry of status.conditions, as built-in kinds and ours have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::kube {

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::optional<WallTime> changed_at;  // lastTransitionTime

  bool is_true() const { return status == "True"; }
  bool is_false() const { return status == "False"; }
  friend bool operator==(const Condition&, const Condition&) = default;
};

// nullopt where the object has none of this type.
std::optional<Condition> FindCondition(const Json& object, std::string_view type);
bool IsConditionTrue(const Json& object, std::string_view type);

// A time field; nullopt where there is none, or no time.
std::optional<WallTime> TimeAt(const Json& value, JsonPath path);

}  // namespace espalier::ctl::kube
