// One GET of something small, from a peer that may be slow, silent or hostile.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::http {

// The body of a 200 answer of "http://127.0.0.1:9090/status", asked for directly, whatever proxies the environment
// names. Unavailable: no connection, cut short, or another code than 200; DeadlineExceeded: not whole by then, however
// it drips; Internal: longer than `max_bytes`; InvalidArgument: not a URL. Errors name host and port. Thread-safe.
Result<std::string> Get(const std::string& url, size_t max_bytes, Deadline deadline);

}  // namespace espalier::http
