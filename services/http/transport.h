// The interface of an HTTP client, through which S3, STS, metadata endpoints and other peers (get.h) are called.
// CurlTransport implements it over the network; tests use scripted implementations.
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

enum class ProxyUse { kEnvironment, kNone };  // kEnvironment: as set by https_proxy, http_proxy and no_proxy

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
  std::string method;     // of the request; empty unless the caller of Send sets it

  // Returns the value of the first header with this (lower-case) name, or null.
  const std::string* Header(std::string_view name) const;
};

struct SendOptions {
  Deadline deadline;
  // The exchange fails if its rate, upload plus download, stays below 32 KiB/s for this long.
  std::chrono::seconds stall_timeout{15};
  size_t max_body_bytes = size_t{1} << 20;  // limit of Response::body; does not apply to `into`
  // The buffer for the body of a 2xx response. It must outlive the exchange; its content is unspecified after an error.
  // If its data() is null, the body goes to Response::body.
  std::span<std::byte> into;
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Returns the complete response, for any HTTP status. Errors: Unavailable (no connection, connection reset, truncated
  // response), DeadlineExceeded, FailedPrecondition (the server's certificate is not trusted, or http:// is used for a
  // TLS port or https:// for a plain one), Internal (more than max_body_bytes, or too many bytes of headers),
  // Unimplemented (more bytes than SendOptions::into can hold), InvalidArgument (invalid URL). Messages contain the
  // scheme, host and port of the URL but no other part of the request.
  virtual Result<Response> Send(const Request& request, const SendOptions& options) = 0;
};

inline const std::string* Response::Header(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (header == name) return &value;
  }
  return nullptr;
}

}  // namespace espalier::http
