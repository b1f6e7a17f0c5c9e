#include "operator/kube/condition.h"

namespace espalier::ctl::kube {

std::optional<Condition> FindCondition(const Json& object, std::string_view type) {
  for (const Json& condition : ListAt(object, {"status", "conditions"})) {
    if (StringAt(condition, {"type"}) != type) continue;
    return Condition{std::string(type), StringAt(condition, {"status"}), StringAt(condition, {"reason"}),
                     StringAt(condition, {"message"}), TimeAt(condition, {"lastTransitionTime"})};
  }
  return std::nullopt;
}

bool IsConditionTrue(const Json& object, std::string_view type) {
  const std::optional<Condition> condition = FindCondition(object, type);
  return condition.has_value() && condition->is_true();
}

std::optional<WallTime> TimeAt(const Json& value, JsonPath path) {
  const Result<WallTime> time = ParseTime(StringAt(value, path));
  return time.ok() ? std::optional(*time) : std::nullopt;
}

}  // namespace espalier::ctl::kube
