// Answers TokenReviews and SubjectAccessReviews like an API server with given tokens and permissions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "operator/client/transport.h"
#include "operator/kube/json.h"
#include "services/base/mutex.h"

namespace espalier::ctl::metrics_port {

// Thread-safe. Other requests get 404.
class FakeReviews final : public client::HttpTransport {
 public:
  void AddToken(const std::string& token, const std::string& user) {
    MutexLock lock(&mutex_);
    users_[token] = user;
  }
  // Lets the user get /metrics.
  void Allow(const std::string& user) {
    MutexLock lock(&mutex_);
    allowed_.insert(user);
  }
  // Makes all further requests fail; an OK status ends that.
  void FailWith(Status status) {
    MutexLock lock(&mutex_);
    failure_ = std::move(status);
  }

  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline, std::stop_token) override {
    MutexLock lock(&mutex_);
    ++num_requests_;
    if (!failure_.ok()) return failure_;
    kube::Json object = *kube::ParseJson(request.body);
    const std::string target = request.method + " " + request.target.substr(0, request.target.find('?'));
    if (target == "POST /apis/authentication.k8s.io/v1/tokenreviews") {
      const auto user = users_.find(kube::StringAt(object, {"spec", "token"}));
      object["status"] =
          user == users_.end() ? kube::Json{{"error", "invalid bearer token"}} : MakeStatus(user->second);
    } else if (target == "POST /apis/authorization.k8s.io/v1/subjectaccessreviews") {
      last_question_ = object["spec"];
      object["status"] = {{"allowed", allowed_.count(kube::StringAt(object, {"spec", "user"})) > 0}};
    } else {
      return client::HttpResponse{404, {}, "not found"};
    }
    return client::HttpResponse{201, {{"Content-Type", "application/json"}}, kube::Print(object)};
  }
  Result<Stream> Open(const kube::HttpRequest&, Deadline, std::stop_token) override {
    return Unimplemented("reviews are no streams");
  }

  int num_requests() const {
    MutexLock lock(&mutex_);
    return num_requests_;
  }
  // Returns the spec of the last SubjectAccessReview.
  kube::Json last_question() const {
    MutexLock lock(&mutex_);
    return last_question_;
  }

 private:
  static kube::Json MakeStatus(const std::string& user) {
    return {{"authenticated", true},
            {"user",
             {{"username", user},
              {"uid", "uid-of-" + user},
              {"groups", {"system:authenticated"}},
              {"extra", {{"example.com/pod", {"prometheus-0"}}}}}}};
  }

  mutable Mutex mutex_;
  std::map<std::string, std::string> users_ ABSL_GUARDED_BY(mutex_);  // by token
  std::set<std::string> allowed_ ABSL_GUARDED_BY(mutex_);
  Status failure_ ABSL_GUARDED_BY(mutex_);
  int num_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  kube::Json last_question_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::metrics_port
