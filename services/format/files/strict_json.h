// Parses untrusted JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/status.h"

namespace espalier::format {

constexpr int kMaxManifestDepth = 16;  // max_depth for manifests of partitionings, checkpoints and outputs

// Parses JSON (RFC 8259). Returns InvalidArgument for a syntax error, with its byte offset, for more than `max_depth`
// nested containers, and for a duplicate key in an object.
Result<nlohmann::json> ParseStrictJson(std::string_view text, int max_depth);

}  // namespace espalier::format
