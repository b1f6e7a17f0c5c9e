// Entries of status.conditions, of built-in kinds and of DistTraining.
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

// Returns the object's condition of this type, or nullopt.
std::optional<Condition> FindCondition(const Json& object, std::string_view type);
// Returns true if the object has the condition with status "True".
bool IsConditionTrue(const Json& object, std::string_view type);

// Returns the time at `path`, or nullopt if there is no valid time.
std::optional<WallTime> TimeAt(const Json& value, JsonPath path);

}  // namespace espalier::ctl::kube
