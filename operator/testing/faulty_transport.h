// A transport that fails as a network or an API server fails, where a test says so; and counts what was written.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "operator/client/transport.h"

namespace espalier::ctl::cluster {

// Thread-safe.
class FaultyTransport final : public client::HttpTransport {
 public:
  // Called before a request is sent, and once more with its answer: what it returns is the answer instead (before: and
  // the request is not sent).
  using Fault = std::function<std::optional<Result<client::HttpResponse>>(const kube::HttpRequest& request,
                                                                          const client::HttpResponse* answer)>;
  explicit FaultyTransport(std::unique_ptr<client::HttpTransport> below) : below_(std::move(below)) {}

  // Only while nothing is under way.
  void SetFault(Fault fault) { fault_ = std::move(fault); }
  // Requests that changed something: not GET, not a dry run, answered 2xx.
  int64_t num_writes() const { return num_writes_.load(); }
  int64_t num_requests() const { return num_requests_.load(); }

  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override {
    return below_->Open(request, deadline, stop);
  }

 private:
  const std::unique_ptr<client::HttpTransport> below_;
  Fault fault_;
  std::atomic<int64_t> num_writes_{0};
  std::atomic<int64_t> num_requests_{0};
};

bool IsWrite(const kube::HttpRequest& request);

// {"kind": "Status", ...} as an API server answers.
client::HttpResponse ErrorAnswer(int code, const std::string& reason, const std::string& message);

}  // namespace espalier::ctl::cluster
