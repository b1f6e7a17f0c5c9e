// Parsing of URLs.
#pragma once

#include <string>

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
// quotes at most the host of the URL.
Result<Url> ParseUrl(const std::string& text);

}  // namespace espalier::http
