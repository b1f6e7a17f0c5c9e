// JSON from files that nobody vouches for.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/status.h"

namespace espalier::format {

constexpr int kMaxManifestDepth = 16;  // max_depth for every kind of manifest

// RFC 8259 JSON, at most max_depth containers deep, no key twice in one object: InvalidArgument names the byte and
// what is wrong there.
Result<nlohmann::json> ParseStrictJson(std::string_view text, int max_depth);

}  // namespace espalier::format
