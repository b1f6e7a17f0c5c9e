// Base64 of RFC 4648, as kubeconfigs, Secrets and S3's checksums have it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// With padding, on one line.
std::string EncodeBase64(std::string_view bytes);
// Line breaks and other white space are skipped, and padding may be missing or made of '.'. nullopt for anything else.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace espalier
