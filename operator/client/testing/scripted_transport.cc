#include "operator/client/testing/scripted_transport.h"

#include <atomic>

namespace espalier::ctl::client {
namespace {

class ScriptedStream final : public LineStream {
 public:
  ScriptedStream(std::vector<std::string> lines, Status end)
      : lines_(lines.begin(), lines.end()), end_(std::move(end)) {}

  Result<std::optional<std::string>> Next(Deadline) override {
    if (is_cancelled_) return Cancelled("the stream was cancelled");
    if (!lines_.empty()) {
      std::string line = std::move(lines_.front());
      lines_.pop_front();
      return std::optional(std::move(line));
    }
    if (!end_.ok()) return end_;
    return std::optional<std::string>();
  }
  void Cancel() override { is_cancelled_ = true; }

 private:
  std::deque<std::string> lines_;
  const Status end_;
  std::atomic<bool> is_cancelled_ = false;  // any thread may cancel
};

}  // namespace

void ScriptedTransport::Then(Answer answer) {
  MutexLock lock(&mutex_);
  answers_.push_back(std::move(answer));
}

void ScriptedTransport::Then(int code, std::string body, Headers headers) {
  HttpResponse response{code, std::move(headers), std::move(body)};
  Then([response = std::move(response)](const kube::HttpRequest&) -> Result<HttpResponse> { return response; });
}

void ScriptedTransport::ThenFail(Status status) {
  Then([status = std::move(status)](const kube::HttpRequest&) -> Result<HttpResponse> { return status; });
}

void ScriptedTransport::ThenStream(std::vector<std::string> lines, Status end) {
  MutexLock lock(&mutex_);
  streams_.push_back([lines = std::move(lines), end = std::move(end)]() -> Result<Stream> {
    return Stream{HttpResponse{.code = 200}, std::make_unique<ScriptedStream>(lines, end)};
  });
}

void ScriptedTransport::ThenRefuseStream(int code, std::string body, Headers headers) {
  MutexLock lock(&mutex_);
  HttpResponse head{code, std::move(headers), std::move(body)};
  streams_.push_back([head = std::move(head)]() -> Result<Stream> { return Stream{head, nullptr}; });
}

void ScriptedTransport::ThenFailStream(Status status) {
  MutexLock lock(&mutex_);
  streams_.push_back([status = std::move(status)]() -> Result<Stream> { return status; });
}

Result<HttpResponse> ScriptedTransport::Send(const kube::HttpRequest& request, Deadline, std::stop_token stop) {
  Answer answer;
  {
    MutexLock lock(&mutex_);
    requests_.push_back(request);
    if (stop.stop_requested()) return Cancelled("asked to stop");
    if (answers_.empty()) return Unavailable("no more answers");
    answer = std::move(answers_.front());
    answers_.pop_front();
  }
  return answer(request);  // without the lock, because it may call this object
}

Result<HttpTransport::Stream> ScriptedTransport::Open(const kube::HttpRequest& request, Deadline,
                                                      std::stop_token stop) {
  std::function<Result<Stream>()> open;
  {
    MutexLock lock(&mutex_);
    requests_.push_back(request);
    if (stop.stop_requested()) return Cancelled("asked to stop");
    if (streams_.empty()) return Unavailable("no more streams");
    open = std::move(streams_.front());
    streams_.pop_front();
  }
  return open();
}

std::vector<kube::HttpRequest> ScriptedTransport::requests() const {
  MutexLock lock(&mutex_);
  return requests_;
}

size_t ScriptedTransport::num_answers_left() const {
  MutexLock lock(&mutex_);
  return answers_.size() + streams_.size();
}

}  // namespace espalier::ctl::client
