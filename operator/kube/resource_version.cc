#include "operator/kube/resource_version.h"

namespace espalier::ctl::kube {

bool IsComparable(std::string_view resource_version) {
  return !resource_version.empty() && resource_version.front() != '0' &&
         resource_version.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<bool> IsOlder(std::string_view a, std::string_view b) {
  if (!IsComparable(a) || !IsComparable(b)) return std::nullopt;
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

}  // namespace espalier::ctl::kube
