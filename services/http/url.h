// URLs in parts, and percent-encoding (RFC 3986).
#pragma once

#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::http {

struct Url {
  std::string scheme;     // "http" or "https"
  std::string host;       // "s3.example.com", "127.0.0.1", "[::1]"
  std::string authority;  // host, with ":port" where that is not the scheme's own
  std::string path;       // as given, "" or from '/' on, with the query

  std::string Origin() const { return scheme + "://" + authority; }
};

// InvalidArgument for anything but http(s) with a host of letters, digits, '.', '-', '_' or an address in brackets,
// and at most a port and a path: no user, no fragment. The message holds the URL's host only.
Result<Url> ParseUrl(const std::string& text);

enum class SlashEncoding { kKeep, kEncode };
// Every byte but A-Z a-z 0-9 - . _ ~ as %XX, upper case.
std::string PercentEncode(std::string_view text, SlashEncoding slash);

enum class PlusDecoding { kKeep, kSpace };
// The inverse. InvalidArgument for a '%' without two hexadecimal digits.
Result<std::string> PercentDecode(std::string_view text, PlusDecoding plus);

}  // namespace espalier::http
