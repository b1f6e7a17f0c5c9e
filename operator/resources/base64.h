// RFC 4648, as the `data` of Secrets has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier::ctl::resources {

std::string EncodeBase64(std::string_view bytes);
// nullopt for anything but whole groups of four characters, padded.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace espalier::ctl::resources
