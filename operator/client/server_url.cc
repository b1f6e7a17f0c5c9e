#include "operator/client/server_url.h"

#include <arpa/inet.h>

#include <algorithm>

#include "services/base/parse_number.h"

namespace espalier::ctl::client {
namespace {

bool IsHostName(std::string_view host) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
  return !host.empty() && host.size() <= 253 && host.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool IsIpV6(const std::string& host) {
  in6_addr ignored;
  return inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

// Fills host and port from "host", "host:port", "[::1]" or "[::1]:port".
Status ReadAuthority(std::string_view authority, ServerUrl* url) {
  std::string_view port;
  if (authority.substr(0, 1) == "[") {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return InvalidArgument("a '[' without ']'");
    url->host = authority.substr(1, end - 1);
    if (!IsIpV6(url->host)) return InvalidArgument("the text in brackets is not an IPv6 address");
    port = authority.substr(end + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    url->host = authority.substr(0, colon);
    if (!IsHostName(url->host)) return InvalidArgument("expected a host name");
    port = authority.substr(colon);
  }
  if (port.empty()) return {};
  if (port.front() != ':') return InvalidArgument("expected ':' and a port after the address");
  ASSIGN_OR_RETURN(url->port, ParsePort(port.substr(1)));
  return {};
}

}  // namespace

Result<ServerUrl> ParseServerUrl(std::string_view text) {
  ServerUrl url;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
    url.tls = false;
    url.port = 80;
  } else {
    return InvalidArgument("expected https:// or http://");
  }
  const bool is_printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_printable) return InvalidArgument("expected a URL of printable ASCII characters without spaces");
  if (text.find_first_of("?#") != std::string_view::npos) {
    return InvalidArgument("expected a URL without a query or fragment");
  }
  const std::string_view authority = text.substr(0, text.find('/'));
  if (authority.find('@') != std::string_view::npos) return InvalidArgument("expected a URL without a user");
  RETURN_IF_ERROR(ReadAuthority(authority, &url));
  url.path = text.substr(authority.size());
  while (url.path.ends_with('/')) url.path.pop_back();
  return url;
}

Result<uint16_t> ParsePort(std::string_view text) {
  const uint16_t port = ParseNumber<uint16_t>(text).value_or(0);
  if (port == 0) return InvalidArgument("expected a port from 1 to 65535");
  return port;
}

}  // namespace espalier::ctl::client
