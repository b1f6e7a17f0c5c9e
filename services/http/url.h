// Parsing of URLs, and percent-encoding (RFC 3986).
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::http {

struct Url {
  std::string scheme;     // "http" or "https"
  std::string host;       // "s3.example.com", "127.0.0.1", "[::1]"
  std::string authority;  // host, with ":port" unless it is the scheme's default
  std::string path;       // unmodified, with the query; "" or starts with '/'

  std::string Origin() const { return scheme + "://" + authority; }
};

// Parses an http or https URL. The host consists of letters, digits, '.', '-' and '_' or is an address in brackets. A
// port and a path are optional; a user or a fragment is not allowed. InvalidArgument for other text; the message
// contains only the host of the URL.
Result<Url> ParseUrl(const std::string& text);

enum class SlashEncoding { kKeep, kEncode };
// Encodes every byte except A-Z a-z 0-9 - . _ ~ as %XX in upper case; '/' only with kEncode.
std::string PercentEncode(std::string_view text, SlashEncoding slash);

enum class PlusDecoding { kKeep, kSpace };
// Decodes each %XX, in upper or lower case, and with kSpace each '+' as a space. InvalidArgument for a '%' that is not
// followed by two hexadecimal digits.
Result<std::string> PercentDecode(std::string_view text, PlusDecoding plus);

}  // namespace espalier::http
