// The interface for HTTP exchanges of the protocols over HTTP (S3, STS, metadata endpoints). CurlTransport implements
// it over the network; tests use scripted implementations.
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

enum class ProxyUse { kEnvironment, kNone };  // https_proxy, http_proxy, no_proxy | no proxy

struct Request {
  std::string method;               // "GET"
  std::string url;                  // "https://host:9000/path?query", percent-encoded
  Headers headers;                  // may contain secrets: never logged
  std::span<const std::byte> body;  // must outlive the exchange
  ProxyUse proxy = ProxyUse::kEnvironment;
};

struct Response {
  int status = 0;
  Headers headers;        // names in lower case
  std::string body;       // empty if it was written to SendOptions::into
  size_t bytes_into = 0;  // number of bytes written to SendOptions::into
  std::string method;     // of the request, if the sender has set it

  // Returns the value of the first header with this (lower-case) name, or null.
  const std::string* Header(std::string_view name) const;
};

struct SendOptions {
  Deadline deadline;
  // The exchange fails after a time of this length with less than 32 KiB/s on average in both directions.
  std::chrono::seconds stall_timeout{15};
  size_t max_body_bytes = size_t{1} << 20;  // of Response::body
  // The buffer for the body of a 2xx response; null data: the body goes to Response::body. Must outlive the exchange.
  // After an error, its content is unspecified.
  std::span<std::byte> into;
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Returns the complete response, for any HTTP status. Errors: Unavailable (no connection, connection reset, truncated
  // response), DeadlineExceeded, FailedPrecondition (the server's certificate is not trusted, or http:// is used for a
  // TLS port or https:// for a plain one), Internal (more than max_body_bytes), Unimplemented (more bytes than
  // SendOptions::into can hold). Messages contain the host but no other part of the request.
  virtual Result<Response> Send(const Request& request, const SendOptions& options) = 0;
};

inline const std::string* Response::Header(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header == name) return &value;
  }
  return nullptr;
}

}  // namespace espalier::http
