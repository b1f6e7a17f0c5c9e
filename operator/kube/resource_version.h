// resourceVersion as a number of any length (KEP-5504): comparable within one resource.
#pragma once

#include <optional>
#include <string_view>

namespace espalier::ctl::kube {

// Decimal digits, no leading zero: what can be compared. "" and "0" are questions to a server, not versions.
bool IsComparable(std::string_view resource_version);
// True where a < b; nullopt where either is not comparable.
std::optional<bool> IsOlder(std::string_view a, std::string_view b);

}  // namespace espalier::ctl::kube
