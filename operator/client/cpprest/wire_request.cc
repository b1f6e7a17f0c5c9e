#include "operator/client/cpprest/wire_request.h"

#include <algorithm>

namespace espalier::ctl::client {
namespace {

// Methods, targets, header names and tokens must be visible ASCII. Header values may also have spaces and bytes beyond
// ASCII.
bool IsVisible(unsigned char c) { return c > 0x20 && c < 0x7f; }
bool IsVisibleText(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsVisible);
}
bool IsHeaderValue(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

Status AddHeader(web::http::http_headers& headers, const std::string& name, const std::string& value) {
  if (!IsVisibleText(name) || name.find(':') != std::string::npos || !IsHeaderValue(value)) {
    return InvalidArgument((IsVisibleText(name) ? "the header " + name : std::string("a header's name")) +
                           " contains characters that are invalid in a header");
  }
  headers[name] = value;
  return {};
}

// Adds one header line for each of `values`, the groups to impersonate. If several values are added under one name,
// cpprest joins them with commas, and the API server takes "a,b" for the name of one group. cpprest writes a value
// unchanged, so this function stores all header lines as one value with line breaks.
Status AddHeaderLines(web::http::http_headers& headers, const std::string& name,
                      const std::vector<std::string>& values) {
  std::string lines;
  for (const std::string& value : values) {
    RETURN_IF_ERROR(AddHeader(headers, name, value));
    lines += (lines.empty() ? "" : "\r\n" + name + ": ") + value;
  }
  if (!lines.empty()) headers[name] = lines;
  return {};
}

Status AddIdentity(web::http::http_headers& headers, const Credentials& credentials, const WireSettings& settings,
                   const Endpoint& endpoint) {
  if (!settings.impersonate_user.empty()) {
    RETURN_IF_ERROR(AddHeader(headers, "Impersonate-User", settings.impersonate_user));
  }
  if (!settings.impersonate_uid.empty()) {
    RETURN_IF_ERROR(AddHeader(headers, "Impersonate-Uid", settings.impersonate_uid));
  }
  RETURN_IF_ERROR(AddHeaderLines(headers, "Impersonate-Group", settings.impersonate_groups));
  const std::string& token = credentials.bearer_token.Reveal();
  if (token.empty()) return {};
  if (!IsVisibleText(token)) {
    return InvalidArgument("the bearer token contains white space, or characters that are not printable ASCII");
  }
  if (!settings.tls && !endpoint.is_loopback) {
    return InvalidArgument("a bearer token is not sent to " + endpoint.label + " without TLS");
  }
  return AddHeader(headers, "Authorization", "Bearer " + token);
}

}  // namespace

Result<web::http::http_request> MakeWireRequest(const kube::HttpRequest& request, const Credentials& credentials,
                                                const WireSettings& settings, const Endpoint& endpoint) {
  const std::string target = settings.base_path + request.target;
  if (!IsVisibleText(request.method) || !IsVisibleText(target) || !target.starts_with('/') ||
      target.starts_with("//")) {
    return InvalidArgument("invalid request: expected a method, and a path that starts with one '/'");
  }
  try {
    web::http::http_request wire(request.method);
    wire.set_request_uri(web::uri(target));
    web::http::http_headers& headers = wire.headers();
    for (const auto& [name, value] : request.headers) RETURN_IF_ERROR(AddHeader(headers, name, value));
    RETURN_IF_ERROR(AddHeader(headers, "User-Agent", settings.user_agent));
    if (!endpoint.host_header.empty()) RETURN_IF_ERROR(AddHeader(headers, "Host", endpoint.host_header));
    RETURN_IF_ERROR(AddIdentity(headers, credentials, settings, endpoint));
    // Keeps the Content-Type of request.headers, if there is one.
    if (!request.body.empty()) wire.set_body(request.body, "application/json");
    return wire;
  } catch (const std::exception& e) {
    return InvalidArgument("invalid request: " + std::string(e.what()));
  }
}

}  // namespace espalier::ctl::client
