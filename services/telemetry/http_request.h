// The little of HTTP/1.1 that the admin port speaks, as pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier::telemetry {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string query;  // what follows '?'
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// True once `received` holds a whole request head (it ends in an empty line).
bool HasWholeHead(std::string_view received);
// The request line of a whole head; nullopt for what is no HTTP/1.x request.
std::optional<HttpRequest> ParseRequest(std::string_view head);
// The bytes to send; without the body for HEAD. Says that the connection closes.
std::string SerializeResponse(const HttpResponse& response, bool with_body);

}  // namespace espalier::telemetry
