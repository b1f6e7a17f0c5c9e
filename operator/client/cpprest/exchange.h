// One request and its response, processed by the threads of cpprestsdk ("the library"). The caller waits for the head
// and the body with its own deadline, which also holds if the library hangs.
#pragma once

#include <pplx/pplxtasks.h>

#include <atomic>
#include <memory>
#include <optional>

#include "operator/client/cpprest/client_pool.h"
#include "operator/client/cpprest/line_sink.h"
#include "operator/client/transport.h"

namespace espalier::ctl::client {

// Thread-safe, except that only one thread may read the body.
class Exchange {
 public:
  // Starts to send the request, whose body has `body_bytes` bytes. Setting up the connection may read files on the
  // calling thread; all other work is done by the library's threads.
  static std::shared_ptr<Exchange> Start(std::shared_ptr<PooledClient> client, web::http::http_request request,
                                         size_t body_bytes, LineBuffer::Limits limits);

  // Blocks for the head and returns it, without a body. Returns DeadlineExceeded, Cancelled, or the error of the
  // request.
  Result<HttpResponse> AwaitHead(Deadline deadline);
  // Returns the buffer of the body. The buffer ends with OK when the body is complete and the library has released the
  // connection, so that the next request can use it; otherwise with an error, Unavailable if the connection broke.
  LineBuffer& body() { return sink_->buffer(); }
  // Makes waiting callers return immediately, and closes the connection unless the response is complete.
  void Cancel();

 private:
  explicit Exchange(LineBuffer::Limits limits) : sink_(std::make_shared<LineSink>(limits)) {}
  void SetHead(const web::http::http_response& response);
  void Finish(Status status);
  void OnRequestReleased();

  const std::shared_ptr<LineSink> sink_;
  pplx::cancellation_token_source cancellation_;
  std::atomic<bool> is_done_{false};      // finished or cancelled
  std::atomic<bool> was_written_{false};  // the request was completely written to a connection
  Mutex mutex_;
  std::optional<Result<HttpResponse>> head_ ABSL_GUARDED_BY(mutex_);
  bool is_complete_ ABSL_GUARDED_BY(mutex_) = false;  // the response was received completely
  bool is_released_ ABSL_GUARDED_BY(mutex_) = false;  // the library has released the request
};

}  // namespace espalier::ctl::client
