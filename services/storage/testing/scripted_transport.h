// A transport whose responses a test scripts.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/http/transport.h"

namespace espalier::storage {

// A request as it was sent, with its body.
struct SentRequest {
  std::string method, url, body;
  http::Headers headers;
  http::ProxyUse proxy = http::ProxyUse::kEnvironment;
  std::optional<Deadline> deadline = {};
  std::chrono::seconds stall_timeout{0};

  // Returns the header's value, or "" if there is no such header.
  std::string Header(std::string_view name) const {
    for (const auto& [header, value] : headers) {
      if (header == name) return value;
    }
    return "";
  }
};

// Returns the scripted responses in order, then fails with Internal("the script is over"). Thread-safe.
class ScriptedTransport final : public http::Transport {
 public:
  using Step = std::function<Result<http::Response>(const SentRequest&)>;

  void Add(Step step) {
    MutexLock lock(&mutex_);
    steps_.push_back(std::move(step));
  }
  // Adds a response. A success without headers gets an S3 header.
  void Answer(int status, std::string body = "", http::Headers headers = {}) {
    if (headers.empty() && status >= 200 && status < 300) headers = {{"x-amz-request-id", "R0"}};
    Add([=](const SentRequest&) { return http::Response{status, headers, body}; });
  }
  void Fail(Status status) {
    Add([=](const SentRequest&) -> Result<http::Response> { return status; });
  }
  std::vector<SentRequest> sent() const {
    MutexLock lock(&mutex_);
    return sent_;
  }

  Result<http::Response> Send(const http::Request& request, const http::SendOptions& options) override {
    Step step;
    SentRequest sent{request.method,   request.url,          "", request.headers, request.proxy,
                     options.deadline, options.stall_timeout};
    sent.body.assign(reinterpret_cast<const char*>(request.body.data()), request.body.size());
    {
      MutexLock lock(&mutex_);
      sent_.push_back(sent);
      if (steps_.empty()) return Internal("the script is over");
      step = std::move(steps_.front());
      steps_.pop_front();
    }
    Result<http::Response> response = step(sent);
    if (response.ok()) return Deliver(*std::move(response), options);
    return response;
  }

  // Returns the response with its body where `options` request it.
  static Result<http::Response> Deliver(http::Response response, const http::SendOptions& options) {
    const bool goes_into = options.into.data() != nullptr && response.status >= 200 && response.status < 300;
    if (response.body.size() > (goes_into ? options.into.size() : options.max_body_bytes)) {
      const std::string message = "the service responds with more bytes than requested";
      return goes_into ? Unimplemented(message) : Internal(message);
    }
    if (!goes_into) return response;
    const auto bytes = std::as_bytes(std::span(response.body));
    std::copy(bytes.begin(), bytes.end(), options.into.begin());
    response.bytes_into = bytes.size();
    response.body.clear();
    return response;
  }

 private:
  mutable Mutex mutex_;
  std::deque<Step> steps_ ABSL_GUARDED_BY(mutex_);
  std::vector<SentRequest> sent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
