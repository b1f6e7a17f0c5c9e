// Zip archives for tests, good and bad.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace espalier::format::testing {

enum class ZipMethod { kStored, kDeflated };

// The bytes of a zip file with these (name, content) members, in this order.
std::string Zip(const std::vector<std::pair<std::string, std::string>>& members,
                ZipMethod method = ZipMethod::kDeflated);

}  // namespace espalier::format::testing
