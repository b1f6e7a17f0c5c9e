// A transport that returns the responses of a script and records the requests.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "operator/client/transport.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {

// Thread-safe. The responses of Send and those of Open are separate sequences.
class ScriptedTransport final : public HttpTransport {
 public:
  using Answer = std::function<Result<HttpResponse>(const kube::HttpRequest&)>;
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // Append a response of Send. After the last one Send returns Unavailable("no more answers").
  void Then(Answer answer);
  void Then(int code, std::string body, Headers headers = {});
  void ThenFail(Status status);
  // Append a response of Open. After the last one Open returns Unavailable("no more streams"). A stream returns its
  // lines, and then at each call its end (OK: nullopt).
  void ThenStream(std::vector<std::string> lines, Status end = {});
  void ThenRefuseStream(int code, std::string body, Headers headers = {});
  void ThenFailStream(Status status);

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;

  std::vector<kube::HttpRequest> requests() const;  // of Send and Open so far
  size_t num_answers_left() const;                  // of Send and Open

 private:
  mutable Mutex mutex_;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::function<Result<Stream>()>> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<kube::HttpRequest> requests_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::client
