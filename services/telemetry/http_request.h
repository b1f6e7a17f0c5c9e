// The subset of HTTP/1.1 that the admin port supports, as pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier::telemetry {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string query;          // after '?'
  std::string authorization;  // value of the first Authorization header; empty without one
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string challenge;  // value of WWW-Authenticate, for a 401; empty: no such header
};

// Returns whether `received` contains a complete request head, which ends with an empty line.
bool HasCompleteHead(std::string_view received);
// Parses the request line and the Authorization header of a complete head; nullopt if it is not an HTTP/1.x request.
std::optional<HttpRequest> ParseRequest(std::string_view head);
// Returns the bytes to send. `with_body` is false for HEAD. The headers include "Connection: close".
std::string SerializeResponse(const HttpResponse& response, bool with_body);

}  // namespace espalier::telemetry
