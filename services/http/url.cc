#include "services/http/url.h"

#include <algorithm>

#include "services/base/ascii.h"
#include "services/base/parse_number.h"

namespace espalier::http {
namespace {

bool IsHost(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 2 && host.ends_with(']') && std::all_of(host.begin() + 1, host.end() - 1, [](char c) {
             return HexValue(c) >= 0 || c == ':' || c == '.';
           });
  }
  return !host.empty() &&
         std::all_of(host.begin(), host.end(), [](char c) { return IsWordCharacter(c) || c == '.' || c == '-'; });
}

// Returns 0 if `text` is not a port.
int ParsePort(std::string_view text) { return ParseNumber<uint16_t>(text).value_or(0); }

}  // namespace

Result<Url> ParseUrl(const std::string& text) {
  Url url;
  const size_t colon = text.find("://");
  url.scheme = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (url.scheme != "http" && url.scheme != "https") {
    return InvalidArgument("the URL starts with neither http:// nor https://; expected https://host[:port]");
  }
  const std::string rest = text.substr(colon + 3);
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string authority = rest.substr(0, end);
  url.path = rest.substr(end);
  if (!url.path.empty() && url.path[0] != '/') {
    return InvalidArgument("the URL has a query or a fragment without a path; expected https://host[:port]/path");
  }
  for (const char c : url.path) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '#') {
      return InvalidArgument("the path of the URL has a space, a control character or a '#'");
    }
  }
  if (authority.find('@') != std::string::npos) {
    return InvalidArgument("the URL contains a user; expected https://host[:port]");
  }
  const size_t bracket = authority.rfind(']');
  const size_t port_colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
  url.host = authority.substr(0, port_colon);
  if (!IsHost(url.host)) return InvalidArgument("'" + url.host + "' in the URL is not a host name");
  url.authority = url.host;
  if (port_colon == std::string::npos) return url;
  const int port = ParsePort(std::string_view(authority).substr(port_colon + 1));
  if (port == 0) return InvalidArgument("the URL of host " + url.host + " has no port from 1 to 65535 after its ':'");
  if (port != (url.scheme == "https" ? 443 : 80)) url.authority += ":" + std::to_string(port);
  return url;
}

}  // namespace espalier::http
