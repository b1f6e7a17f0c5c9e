// A transport that answers what a test wrote down, and remembers what it was asked.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "operator/client/transport.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {

// Thread-safe. Send and Open have an order each of their own.
class ScriptedTransport final : public HttpTransport {
 public:
  using Answer = std::function<Result<HttpResponse>(const kube::HttpRequest&)>;
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // Answers of Send, in order; Unavailable("no more answers") after the last.
  void Then(Answer answer);
  void Then(int code, std::string body, Headers headers = {});
  void ThenFail(Status status);
  // Answers of Open, in order; Unavailable("no more streams") after the last. The lines of a stream, then how it ends
  // (ok: cleanly), again and again.
  void ThenStream(std::vector<std::string> lines, Status end = {});
  void ThenRefuseStream(int code, std::string body, Headers headers = {});
  void ThenFailStream(Status status);

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;

  std::vector<kube::HttpRequest> requests() const;  // so far, of both
  size_t num_answers_left() const;                  // of both

 private:
  mutable Mutex mutex_;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<Result<Stream>()>> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<kube::HttpRequest> requests_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::client
