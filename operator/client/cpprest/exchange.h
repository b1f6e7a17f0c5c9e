// One request and its answer, under way in the library's threads. The caller waits here, with its own deadline, for
// the head and for the body; the library is never waited for.
#pragma once

#include <pplx/pplxtasks.h>

#include <atomic>
#include <memory>
#include <optional>

#include "operator/client/cpprest/client_pool.h"
#include "operator/client/cpprest/line_sink.h"
#include "operator/client/transport.h"

namespace espalier::ctl::client {

// Thread-safe; one thread reads.
class Exchange {
 public:
  // Sends; `body_bytes` is the size of the request's body. Connecting may read files on the calling thread; everything
  // else happens elsewhere.
  static std::shared_ptr<Exchange> Start(std::shared_ptr<PooledClient> client, web::http::http_request request,
                                         size_t body_bytes, LineBuffer::Limits limits);

  // Without its body. DeadlineExceeded, Cancelled, or why there is none.
  Result<HttpResponse> AwaitHead(Deadline deadline);
  // Ends cleanly only after the library has taken the connection back, so that the next request finds it; with
  // Unavailable where it broke.
  LineBuffer& body() { return sink_->buffer(); }
  // Whoever waits returns at once, and the connection is closed unless the answer is complete.
  void Cancel();

 private:
  explicit Exchange(LineBuffer::Limits limits) : sink_(std::make_shared<LineSink>(limits)) {}
  void SetHead(const web::http::http_response& response);
  void Finish(Status status);
  void LetGo();  // the library has nothing to do with the request any more

  const std::shared_ptr<LineSink> sink_;
  pplx::cancellation_token_source cancellation_;
  std::atomic<bool> is_done_{false};      // finished or cancelled
  std::atomic<bool> was_written_{false};  // whole, to whichever connection
  Mutex mutex_;
  std::optional<Result<HttpResponse>> head_ ABSL_GUARDED_BY(mutex_);
  bool is_complete_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_let_go_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace espalier::ctl::client
