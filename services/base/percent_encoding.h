// Percent-encoding of URLs (RFC 3986).
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier {

enum class SlashEncoding { kKeep, kEncode };
// Encodes every byte except A-Z a-z 0-9 - . _ ~ as %XX in upper case; '/' only with kEncode.
std::string PercentEncode(std::string_view text, SlashEncoding slash);

enum class PlusDecoding { kKeep, kSpace };
// Decodes each %XX, in upper or lower case, and with kSpace each '+' as a space. InvalidArgument for a '%' that is not
// followed by two hexadecimal digits.
Result<std::string> PercentDecode(std::string_view text, PlusDecoding plus);

}  // namespace espalier
