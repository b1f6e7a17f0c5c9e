// A GET of a small resource from a peer that may be slow, unresponsive or malicious.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::http {

// Returns the body of a 200 response from a URL such as "http://127.0.0.1:9090/status". Ignores proxies from the
// environment. Errors name the host and port, unless the URL is invalid: Unavailable (connection refused or closed,
// truncated response, or a status other than 200), DeadlineExceeded (the response is incomplete at the deadline, even
// if bytes still arrive; before the deadline if connecting takes too long or the transfer stalls), Internal (body
// longer than `max_bytes`, or headers too long), FailedPrecondition (the peer does not speak HTTP, does not speak TLS
// although the URL is https, or has a certificate that is not trusted) and InvalidArgument (invalid URL). Thread-safe.
Result<std::string> Get(const std::string& url, size_t max_bytes, Deadline deadline);

}  // namespace espalier::http
