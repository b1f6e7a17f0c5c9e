// The interface of HTTP connections to one API server. client/cpprest implements it; other implementations wrap another
// transport (main/leader_transport.h) or are fakes (client/testing).
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/request.h"
#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::ctl::client {

struct HttpResponse {
  int code = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names as the server wrote them
  std::string body;

  // Returns the value of a header, or "". The case of the name does not matter.
  std::string Header(std::string_view name) const;
};

// The body of a streamed response, line by line. Next must be called by one thread; Cancel may be called by any.
class LineStream {
 public:
  virtual ~LineStream() = default;
  // Blocks for the next line and returns it without its newline, or nullopt at the end of the response. A last line
  // without a newline is dropped, because it is a truncated event. Errors: DeadlineExceeded: no line by the deadline,
  // the stream stays usable; Cancelled: Cancel was called; ResourceExhausted: a line is too long; Unavailable: the
  // connection broke.
  virtual Result<std::optional<std::string>> Next(Deadline deadline) = 0;
  // Makes the current and all later calls of Next return Cancelled within a second. Idempotent.
  virtual void Cancel() = 0;
};

// Thread-safe.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  // Sends a request and returns the whole response, with any HTTP code. The deadline limits the whole call, including
  // connecting and a slow response. The transport adds the credentials; after a 401 it reads them again and retries
  // once. Errors: DeadlineExceeded; Cancelled: `stop` was requested; ResourceExhausted: the response is too large;
  // Unavailable: the connection broke, and the server may have executed the request; FailedPrecondition: the server has
  // not executed the request (no credentials, no connection, or the request was not completely written);
  // Unauthenticated: the server's certificate is not accepted.
  virtual Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) = 0;

  struct Stream {
    HttpResponse head;                  // has a body only if code is not 200
    std::unique_ptr<LineStream> lines;  // null if code is not 200
  };
  // Sends a request and returns its response as a stream, with the errors of Send. `deadline` and `stop` apply until
  // the head has arrived; afterwards only the deadlines of Next and LineStream::Cancel do.
  virtual Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) = 0;
};

}  // namespace espalier::ctl::client
