#include "services/telemetry/http_request.h"

#include <algorithm>
#include <cctype>

namespace espalier::telemetry {
namespace {

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    default: return "Unknown";
  }
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view StripSpaces(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Returns the value of the first header with this name among the lines after the request line, or "".
std::string_view FindHeader(std::string_view head, std::string_view name) {
  while (true) {
    const size_t end = head.find('\n');
    if (end == std::string_view::npos) return {};
    head.remove_prefix(end + 1);
    const std::string_view line = head.substr(0, head.find('\n'));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && EqualIgnoringCase(line.substr(0, colon), name)) {
      return StripSpaces(line.substr(colon + 1));
    }
  }
}

}  // namespace

bool HasCompleteHead(std::string_view received) {
  return received.find("\r\n\r\n") != std::string_view::npos || received.find("\n\n") != std::string_view::npos;
}

std::optional<HttpRequest> ParseRequest(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  const size_t first_space = line.find(' ');
  if (first_space == std::string_view::npos) return std::nullopt;
  const size_t second_space = line.find(' ', first_space + 1);
  if (second_space == std::string_view::npos) return std::nullopt;
  const std::string_view method = line.substr(0, first_space);
  const std::string_view target = line.substr(first_space + 1, second_space - first_space - 1);
  const std::string_view version = line.substr(second_space + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return std::nullopt;
  if (method.empty() || !IsPrintable(method) || !IsPrintable(target) || !target.starts_with('/')) return std::nullopt;
  const size_t mark = std::min(target.find('?'), target.size());
  const std::string_view query = target.substr(std::min(mark + 1, target.size()));
  return HttpRequest{std::string(method), std::string(target.substr(0, mark)), std::string(query),
                     std::string(FindHeader(head, "Authorization"))};
}

std::string SerializeResponse(const HttpResponse& response, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " + ReasonPhrase(response.status) + "\r\n";
  text += "Content-Type: " + response.content_type + "\r\n";
  text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  if (!response.challenge.empty()) text += "WWW-Authenticate: " + response.challenge + "\r\n";
  text += "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
  if (with_body) text += response.body;
  return text;
}

}  // namespace espalier::telemetry
