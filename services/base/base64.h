// Base64 (RFC 4648), the encoding of kubeconfigs, Secrets and S3 checksums.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// Returns the encoding of `bytes`, with padding and without line breaks.
std::string EncodeBase64(std::string_view bytes);
// Returns the decoded bytes, or nullopt for invalid text. White space is skipped; padding may be missing, or be '.'
// instead of '='.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace espalier
