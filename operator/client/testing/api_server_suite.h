// Tests of the API server behavior that the operator relies on. The fake server (fake_api_server_test.cc) and the real
// kube-apiserver (operator/tests/real_api_server_test.cc) pass the same suite. The tests are in api_server_*_suite.cc,
// which both programs compile; each program instantiates them:
//   INSTANTIATE_TEST_SUITE_P(Fake, ApiServerSuite, ::testing::Values(ApiServerCase{...}), ...);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/client/api_client.h"
#include "operator/client/transport.h"
#include "operator/kube/json.h"
#include "operator/kube/request.h"
#include "operator/kube/watch_event.h"

namespace espalier::ctl::client {

// The server under test. It must run the garbage collector and have the resource disttrainings.espalier.io, with any
// spec and status.
class ApiServerUnderTest {
 public:
  virtual ~ApiServerUnderTest() = default;
  virtual HttpTransport& transport() = 0;
  // Makes all resourceVersions and continue tokens too old, except those of the newest version.
  virtual void ForgetHistory() = 0;
};

struct ApiServerCase {
  std::string name;
  std::function<std::shared_ptr<ApiServerUnderTest>()> start;  // may return the same server to all tests
};
inline void PrintTo(const ApiServerCase& server, std::ostream* out) { *out << server.name; }

class ApiServerSuite : public ::testing::TestWithParam<ApiServerCase> {
 protected:
  void SetUp() override;

  // Return objects in the namespace of the test that the real server accepts.
  kube::Json Object(const kube::Resource& resource, const std::string& name) const;
  kube::Json ConfigMap(const std::string& name, kube::Json data = kube::Json::object()) const;
  kube::Json StatefulSet(const std::string& name, int replicas) const;
  kube::Json Pod(const std::string& name, const std::string& node = "") const;
  kube::Json Job(const std::string& name) const;
  kube::Json DistTraining(const std::string& name, kube::Json spec = {{"epochs", 1}}) const;
  kube::Json OwnedBy(kube::Json object, const kube::Resource& resource, const kube::Json& owner) const;
  kube::ObjectKey Key(const std::string& name) const { return {name_space_, name}; }

  // Returns the object of the call. If the call failed, reports a test failure and returns null.
  kube::Json Must(Result<kube::Json> answer) const;
  kube::Json Create(const kube::Resource& resource, const kube::Json& object) {
    return Must(client_->Create(resource, object));
  }
  kube::Json Get(const kube::Resource& resource, const std::string& name) {
    return Must(client_->Get(resource, Key(name)));
  }
  kube::Json Apply(const kube::Resource& resource, const kube::Json& object, const std::string& manager) {
    return Must(client_->Apply(resource, object, {.field_manager = manager}));
  }
  bool Exists(const kube::Resource& resource, const std::string& name);
  // Polls until `holds` returns true; returns false after a minute. The garbage collector of a real server takes time.
  bool Eventually(const std::function<bool()>& holds) const;
  std::vector<std::string> Names(const kube::Resource& resource, kube::ListOptions options);
  // Returns the unchanged response, without the retries and error codes of the client.
  HttpResponse Send(const kube::HttpRequest& request);

  // A watch of the test's namespace. Next returns the next event except bookmarks, for example "ADDED a"; "END" at the
  // end of the watch, and "NOTHING" after a minute.
  class Reader {
   public:
    explicit Reader(std::unique_ptr<LineStream> lines) : lines_(std::move(lines)) {}
    std::string Next();
    const kube::Json& object() const { return object_; }  // of the last event
    LineStream& lines() { return *lines_; }

   private:
    std::unique_ptr<LineStream> lines_;
    kube::Json object_;
  };
  Reader Watch(const kube::Resource& resource, kube::WatchOptions options);
  // Returns the resourceVersion of a new list.
  std::string Version(const kube::Resource& resource);

  std::shared_ptr<ApiServerUnderTest> server_;
  std::string name_space_;
  std::unique_ptr<telemetry::MetricRegistry> metrics_;
  std::unique_ptr<ClientMetrics> client_metrics_;
  std::unique_ptr<ApiClient> client_;
};

inline std::string VersionOf(const kube::Json& object) {
  return kube::StringAt(object, {"metadata", "resourceVersion"});
}
inline std::string UidOf(const kube::Json& object) { return kube::StringAt(object, {"metadata", "uid"}); }
inline int64_t GenerationOf(const kube::Json& object) {
  return kube::IntegerAt(object, {"metadata", "generation"}).value_or(0);
}

}  // namespace espalier::ctl::client
