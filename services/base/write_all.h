// Writing to file descriptors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier {

// Writes all bytes at the descriptor's position, and repeats writes that were interrupted or incomplete. `what` names
// the file in errors: "writing <what>: No space left on device". The descriptor must be blocking.
Status WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& what);
Status WriteAll(int descriptor, std::string_view text, const std::string& what);

}  // namespace espalier
