// A fake API server, a fake cluster and the operator's controller in one thread of events: nothing happens but by the
// calls below, and time passes only where a test lets it, up to the moment for which a plan asked to be woken.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator/api/status.h"
#include "operator/client/testing/faulty_api_transport.h"
#include "operator/controller/controller.h"
#include "operator/testing/fake_cluster.h"

namespace espalier::ctl::cluster {

// The wall clock of everybody. Thread-safe.
class WallTimer {
 public:
  kube::WallTime Now() const { return kube::WallTime(std::chrono::microseconds(micros_.load())); }
  void Advance(std::chrono::nanoseconds time) { micros_ += std::chrono::ceil<std::chrono::microseconds>(time).count(); }

 private:
  // Begins now: certificates are dated by the system's clock, whatever a test makes of the time.
  std::atomic<int64_t> micros_{
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
};

// One operator process: dropping it is kill -9 as far as the API server can tell.
class TestOperator {
 public:
  TestOperator(client::FakeApiServer& server, WallTimer& wall, controller::ControllerOptions options = {});
  ~TestOperator();

  // Waits until the caches show what the server has.
  void Sync();
  struct Round {
    bool did_something = false;                          // a write, an error, or a wish to be called at once
    std::optional<std::chrono::nanoseconds> wake_after;  // the nearest
    std::vector<Status> errors;
  };
  Round ReconcileAll();  // each DistTraining once, in order of names

  client::FaultyApiTransport& transport() { return transport_; }
  controller::Controller& controller() { return controller_; }
  client::ApiClient& client() { return client_; }
  telemetry::MetricRegistry& metrics() { return metrics_; }

 private:
  bool IsSynced() const;
  bool HasSame(const kube::Resource& resource, const std::map<kube::ObjectKey, std::string>& cached) const;

  client::FakeApiServer& server_;
  telemetry::MetricRegistry metrics_;
  const std::unique_ptr<client::HttpTransport> connection_;
  client::FaultyApiTransport transport_;
  client::ClientMetrics client_metrics_;
  client::ApiClient client_;
  runtime::EventRecorder events_;
  controller::Controller controller_;
};

class OperatorWorld {
 public:
  OperatorWorld();
  ~OperatorWorld();

  // A valid DistTraining "ml/<name>" with `spec` merged into it (RFC 7396).
  void Create(const std::string& name, const kube::Json& spec = kube::Json::object());
  // As kubectl edit: the spec's generation grows.
  void Edit(const std::string& name, const kube::Json& spec_patch);
  void RestartOperator();

  // One turn of everybody: caches, each job, the cluster. False where nothing happened.
  bool Turn();
  void Settle();  // turns until nothing happens
  void Advance(std::chrono::nanoseconds time) { wall.Advance(time); }
  // Turns, and time between them as the plans want to be woken, until the condition holds; false after `longest`.
  bool RunUntil(const std::function<bool()>& condition, std::chrono::seconds longest = std::chrono::minutes(10));
  void RunFor(std::chrono::seconds time);

  bool Exists(const std::string& name) const;
  api::Status StatusOf(const std::string& name) const;
  std::string PhaseOf(const std::string& name) const;  // as printed
  bool RunUntilPhase(const std::string& name, const std::string& phase,
                     std::chrono::seconds longest = std::chrono::minutes(10));
  // Names, sorted, of all objects of a kind.
  std::vector<std::string> Names(const kube::Resource& resource) const;
  // "Job cora-trainer-1", of all kinds of children, sorted.
  std::vector<std::string> Children() const;

  std::string LastRequests() const;

  WallTimer wall;
  client::FakeApiServer server;
  FakeCluster cluster;
  std::unique_ptr<TestOperator> op;
};

}  // namespace espalier::ctl::cluster
