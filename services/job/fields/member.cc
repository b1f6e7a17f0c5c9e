#include "services/job/fields/member.h"

#include <cmath>

#include "services/job/text/scalars.h"

namespace espalier::job::internal {

int64_t ToInteger(const Json& value) {
  if (!value.is_string()) return value.get<int64_t>();
  const std::optional<uint64_t> bytes = ReadMemorySize(value.get<std::string>());
  ESPALIER_CHECK(bytes.has_value()) << value << " is not a memory size";
  return static_cast<int64_t>(*bytes);  // below 2^60
}

Json ToJson(double value) {
  return value == std::trunc(value) && std::abs(value) < 1e15 ? Json(static_cast<int64_t>(value)) : Json(value);
}

}  // namespace espalier::job::internal
