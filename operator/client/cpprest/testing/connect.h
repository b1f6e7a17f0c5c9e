// Helpers for the tests of this folder.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/client/testing/misbehaving_server.h"
#include "services/base/check.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {

// Returns the CA of the file that SSL_CERT_FILE named before InitializeCpprest (environment.cc).
const TestAuthority& MachineAuthority();

// Returns a deadline that successful calls never reach.
inline Deadline InTime() { return Deadline::After(std::chrono::seconds(60)); }

inline Connection PlainTo(const MisbehavingServer& server) {
  return {.host = "127.0.0.1", .port = server.port(), .tls = false};
}

inline std::unique_ptr<HttpTransport> Connect(const Connection& connection, const CpprestOptions& options = {}) {
  Result<std::unique_ptr<HttpTransport>> transport = MakeCpprestTransport(connection, options);
  ESPALIER_CHECK(transport.ok()) << transport.status().ToString();
  return *std::move(transport);
}

inline kube::HttpRequest Get(std::string target = "/api") { return {.method = "GET", .target = std::move(target)}; }

inline kube::HttpRequest Post(std::string body) {
  return {.method = "POST",
          .target = "/api/v1/pods",
          .headers = {{"Content-Type", "application/json"}},
          .body = std::move(body)};
}

// Returns the given credentials in turn: each Reject moves to the next, and the last stay in use.
class CredentialsInTurn final : public CredentialsSource {
 public:
  explicit CredentialsInTurn(std::vector<Credentials> turns) : turns_(std::move(turns)) {}

  Result<Credentials> Get(Deadline) override {
    MutexLock lock(&mutex_);
    return turns_[std::min(next_, turns_.size() - 1)];
  }
  void Reject() override {
    MutexLock lock(&mutex_);
    ++next_;
  }
  size_t num_rejected() const {
    MutexLock lock(&mutex_);
    return next_;
  }

 private:
  const std::vector<Credentials> turns_;
  mutable Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

inline Credentials Token(std::string text) { return {.bearer_token = telemetry::Secret(std::move(text))}; }

}  // namespace espalier::ctl::client
