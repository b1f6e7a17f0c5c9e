// GET over plain HTTP/1.1 of something small, from a peer that may be slow, silent or hostile.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::ctl::controller {

struct HttpGetOptions {
  std::string address;  // an IP address: names are not resolved
  uint16_t port = 80;
  std::string path = "/";
  size_t max_bytes = 64 << 10;  // of head and body together
};

// The body of a 200 answer. Unavailable: no connection, or cut short; DeadlineExceeded: not whole by then, however it
// drips; ResourceExhausted: longer than max_bytes; InvalidArgument: no such address, another code, or no HTTP.
Result<std::string> HttpGet(const HttpGetOptions& options, Deadline deadline);

// The body of a whole answer as it came over a connection that was closed at its end.
Result<std::string> BodyOfAnswer(const std::string& received);

}  // namespace espalier::ctl::controller
