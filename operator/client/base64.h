// RFC 4648 base64, as the *-data fields of kubeconfig have it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier::ctl::client {

std::string EncodeBase64(std::string_view bytes);
// Line breaks are passed over, as Go does. nullopt for anything else that is no base64 with its padding.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace espalier::ctl::client
