#include "services/http/get.h"

#include "services/http/curl_transport.h"

namespace espalier::http {

Result<std::string> Get(const std::string& url, size_t max_bytes, Deadline deadline) {
  CurlTransport transport;
  ASSIGN_OR_RETURN(Response response, transport.Send({.method = "GET", .url = url, .proxy = ProxyUse::kNone},
                                                     {.deadline = deadline, .max_body_bytes = max_bytes}));
  if (response.status != 200) return Unavailable(url + " responded with status " + std::to_string(response.status));
  return std::move(response.body);
}

}  // namespace espalier::http
