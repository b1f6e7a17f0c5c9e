// Creates zip archives for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace espalier::format::testing {

enum class ZipMethod { kStored, kDeflated };

// Returns the content of a zip file with these (name, content) members, in this order.
std::string Zip(const std::vector<std::pair<std::string, std::string>>& members,
                ZipMethod method = ZipMethod::kDeflated);

}  // namespace espalier::format::testing
