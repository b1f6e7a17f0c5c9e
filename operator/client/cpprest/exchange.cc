#include "operator/client/cpprest/exchange.h"

#include "operator/client/cpprest/failure.h"

namespace espalier::ctl::client {

std::shared_ptr<Exchange> Exchange::Start(std::shared_ptr<PooledClient> client, web::http::http_request request,
                                          size_t body_bytes, LineBuffer::Limits limits) {
  const std::shared_ptr<Exchange> exchange(new Exchange(limits));
  try {
    request.set_response_stream(Concurrency::streams::streambuf<uint8_t>(exchange->sink_).create_ostream());
    // The connection can be reused only when the library has released the request, shortly after the response is
    // complete. The library then also releases the progress handler, and the deleter of `held` calls OnRequestReleased.
    const std::shared_ptr<void> held(nullptr, [exchange](void*) { exchange->OnRequestReleased(); });
    request.set_progress_handler(
        [exchange, held, body_bytes](web::http::message_direction::direction direction, utility::size64_t bytes) {
          const bool is_upload = direction == web::http::message_direction::upload;
          if (is_upload && bytes >= body_bytes) exchange->was_written_.store(true);
        });
    // If no continuation observes a task's exception, the process is terminated. So the last continuation takes a task,
    // not a value: it observes every exception and throws none.
    client->http.request(request, exchange->cancellation_.get_token())
        .then([exchange](const web::http::http_response& response) {
          exchange->SetHead(response);
          return response.content_ready();
        })
        .then([exchange, refusal = client->refusal](const pplx::task<web::http::http_response>& answer) {
          try {
            answer.get();
            exchange->Finish({});
          } catch (...) {
            exchange->Finish(ToStatus(std::current_exception(), refusal->reason(), exchange->was_written_.load()));
          }
        });
  } catch (...) {
    exchange->Finish(FailedPrecondition("cpprestsdk could not start the request"));
  }
  return exchange;
}

Result<HttpResponse> Exchange::AwaitHead(Deadline deadline) {
  MutexLock lock(&mutex_);
  const bool has_head =
      mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return head_.has_value(); });
  if (!has_head) return DeadlineExceeded("no response in time");
  return *head_;
}

void Exchange::Cancel() {
  sink_->buffer().Cancel();
  {
    MutexLock lock(&mutex_);
    if (!head_) head_ = Cancelled("the request was cancelled");
  }
  if (is_done_.exchange(true)) return;  // another request may already use the connection
  cancellation_.cancel();               // closes the socket, on this thread
}

void Exchange::SetHead(const web::http::http_response& response) {
  HttpResponse head;
  head.code = response.status_code();
  for (const auto& [name, value] : response.headers()) head.headers.emplace_back(name, value);
  MutexLock lock(&mutex_);
  if (!head_) head_ = std::move(head);
}

void Exchange::Finish(Status status) {
  {
    MutexLock lock(&mutex_);
    if (!head_) head_ = status.ok() ? Internal("a response without a head") : status;
    is_complete_ = status.ok();
    if (is_complete_ && !is_released_) return;  // OnRequestReleased ends the buffer
  }
  is_done_.store(true);
  sink_->buffer().End(std::move(status));
}

void Exchange::OnRequestReleased() {
  {
    MutexLock lock(&mutex_);
    is_released_ = true;
    if (!is_complete_) return;  // Finish ends the buffer
  }
  is_done_.store(true);
  sink_->buffer().End({});
}

}  // namespace espalier::ctl::client
