// HTTP to one API server, as small as the client needs it: a fake, a script or cpprestsdk (client/cpprest) is behind
// it.
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

  // Compared without case; empty where there is none.
  std::string Header(std::string_view name) const;
};

// The body of a streamed answer, line by line. Next is called by one thread, Cancel by any.
class LineStream {
 public:
  virtual ~LineStream() = default;
  // The next line without its newline; nullopt at the clean end (a last line without a newline is dropped: a watch that
  // was cut in mid-event). DeadlineExceeded: nothing came by then, the stream is still good. Cancelled after Cancel.
  // ResourceExhausted: a line longer than the cap. Unavailable: the connection broke.
  virtual Result<std::optional<std::string>> Next(Deadline deadline) = 0;
  // Makes Next return within a second, now and always. Idempotent.
  virtual void Cancel() = 0;
};

// Thread-safe.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  // One request, the whole answer, whatever its code. DeadlineExceeded at the deadline, which bounds everything,
  // connecting and a dripping server included; Cancelled when asked to stop; ResourceExhausted for an answer over 64
  // MiB; Unavailable: the server may or may not have carried it out; FailedPrecondition: it surely has not (not
  // connected, or the request was not written whole); Unauthenticated: the server's certificate is not accepted.
  // Credentials are the transport's business, and it looks for fresh ones when the server answers 401, once a request.
  virtual Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) = 0;

  struct Stream {
    HttpResponse head;                  // with a body only where code is not 200
    std::unique_ptr<LineStream> lines;  // null where code is not 200
  };
  // Waits for the answer's head until the deadline, or until asked to stop; the stream has none, but for those of Next,
  // and ends by its own Cancel.
  virtual Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop = {}) = 0;
};

}  // namespace espalier::ctl::client
