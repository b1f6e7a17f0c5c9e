#include "services/http/url.h"

#include <algorithm>
#include <charconv>

namespace espalier::http {
namespace {

bool IsAlnum(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool IsUnreserved(char c) { return IsAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsHost(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 2 && host.ends_with(']') && std::all_of(host.begin() + 1, host.end() - 1, [](char c) {
             return HexValue(c) >= 0 || c == ':' || c == '.';
           });
  }
  return !host.empty() &&
         std::all_of(host.begin(), host.end(), [](char c) { return IsAlnum(c) || c == '.' || c == '-' || c == '_'; });
}

// Returns 0 if `text` is not a port.
int ParsePort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_port = error == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536;
  return is_port ? port : 0;
}

}  // namespace

Result<Url> ParseUrl(const std::string& text) {
  Url url;
  const size_t colon = text.find("://");
  url.scheme = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (url.scheme != "http" && url.scheme != "https") {
    return InvalidArgument("a URL starts with neither http:// nor https://; expected https://host[:port]");
  }
  const std::string rest = text.substr(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string authority = rest.substr(0, slash);
  url.path = rest.substr(slash);
  for (const char c : url.path) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '#') {
      return InvalidArgument("the path of a URL has a space, a control character or a '#'");
    }
  }
  if (authority.find('@') != std::string::npos) {
    return InvalidArgument("a URL contains a user; expected https://host[:port]");
  }
  const size_t bracket = authority.rfind(']');
  const size_t port_colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
  url.host = authority.substr(0, port_colon);
  if (!IsHost(url.host)) return InvalidArgument("'" + url.host + "' in a URL is not a host name");
  url.authority = url.host;
  if (port_colon == std::string::npos) return url;
  const int port = ParsePort(std::string_view(authority).substr(port_colon + 1));
  if (port == 0) return InvalidArgument("the URL of host " + url.host + " has no port from 1 to 65535 after its ':'");
  if (port != (url.scheme == "https" ? 443 : 80)) url.authority += ":" + std::to_string(port);
  return url;
}

std::string PercentEncode(std::string_view text, SlashEncoding slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c) || (c == '/' && slash == SlashEncoding::kKeep)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 15];
  }
  return encoded;
}

Result<std::string> PercentDecode(std::string_view text, PlusDecoding plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == PlusDecoding::kSpace) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
      if (high < 0 || low < 0) return InvalidArgument("a '%' is not followed by two hexadecimal digits");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

}  // namespace espalier::http
