// One HTTP exchange: what protocols over HTTP (S3, STS, metadata endpoints) ask of the network. CurlTransport does it
// for real, tests script it.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

enum class ProxyUse { kEnvironment, kNone };  // https_proxy, http_proxy, no_proxy | always directly

struct Request {
  std::string method;               // "GET"
  std::string url;                  // "https://host:9000/path?query", percent-encoded as it is sent
  Headers headers;                  // may hold secrets: never logged
  std::span<const std::byte> body;  // outlives the exchange
  ProxyUse proxy = ProxyUse::kEnvironment;
};

struct Response {
  int status = 0;
  Headers headers;        // names in lower case
  std::string body;       // empty where it went to SendOptions::into
  size_t bytes_into = 0;  // of SendOptions::into that were written
  std::string method;     // of the request, where the sender has set it

  // The value of the first header of that (lower-case) name; null where there is none.
  const std::string* Header(std::string_view name) const;
};

struct SendOptions {
  Deadline deadline;
  // Less than 32 KiB/s on average for so long, in either direction: the exchange fails.
  std::chrono::seconds stall_timeout{15};
  size_t max_body_bytes = size_t{1} << 20;  // of Response::body
  // Where the body of a 2xx answer goes; null data: to Response::body. Outlives the exchange. On an error its
  // contents are unspecified.
  std::span<std::byte> into;
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // The complete answer, whatever its status. Errors: Unavailable (no connection, reset, cut short),
  // DeadlineExceeded, FailedPrecondition (the server's certificate is not trusted; http:// to a port of TLS, or the
  // reverse), Internal (more bytes than max_body_bytes), Unimplemented (more than SendOptions::into holds). Messages
  // name the host, nothing else of the request.
  virtual Result<Response> Send(const Request& request, const SendOptions& options) = 0;
};

inline const std::string* Response::Header(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header == name) return &value;
  }
  return nullptr;
}

}  // namespace espalier::http
