// Compares resourceVersions as decimal numbers of any length (KEP-5504). Two versions are comparable only if they
// belong to the same resource type, such as Pods.
#pragma once

#include <optional>
#include <string_view>

namespace espalier::ctl::kube {

// Returns whether the version consists of decimal digits without a leading zero. "" and "0" are not versions: they have
// special meanings in requests.
bool IsComparable(std::string_view resource_version);
// Returns whether a < b, or nullopt if either is not comparable.
std::optional<bool> IsOlder(std::string_view a, std::string_view b);

}  // namespace espalier::ctl::kube
