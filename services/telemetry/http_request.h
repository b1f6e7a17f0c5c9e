// The subset of HTTP/1.1 that the admin port supports, as pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier::telemetry {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string query;  // after '?'
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Returns whether `received` contains a complete request head, which ends with an empty line.
bool HasWholeHead(std::string_view received);
// Parses the request line of a complete head; nullopt if it is not an HTTP/1.x request.
std::optional<HttpRequest> ParseRequest(std::string_view head);
// Returns the bytes to send, without the body for HEAD. The header announces that the connection will be closed.
std::string SerializeResponse(const HttpResponse& response, bool with_body);

}  // namespace espalier::telemetry
