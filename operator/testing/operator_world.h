// A fake API server, a fake cluster and the operator's controller, driven by one thread. All changes are made by the
// calls below. Time passes only by Advance, or in RunUntil up to the next requeue time.
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

// The wall clock of all components. Thread-safe.
class WallTimer {
 public:
  kube::WallTime Now() const { return kube::WallTime(std::chrono::microseconds(micros_.load())); }
  void Advance(std::chrono::nanoseconds time) { micros_ += std::chrono::ceil<std::chrono::microseconds>(time).count(); }

 private:
  // Starts at the current time, because certificates are dated by the system's clock.
  std::atomic<int64_t> micros_{
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count()};
};

// One operator process. Its destruction looks like SIGKILL to the API server.
class TestOperator {
 public:
  TestOperator(client::FakeApiServer& server, WallTimer& wall, controller::ControllerOptions options = {});
  ~TestOperator();

  // Waits until the caches equal the objects of the server. Waits for Workloads and PodGroups only if awaits_workloads
  // and awaits_pod_groups are set, because the server may refuse to list them.
  void Sync();
  struct Round {
    bool did_something = false;                          // a write, an error, or an immediate requeue
    std::optional<std::chrono::nanoseconds> wake_after;  // the earliest requeue time
    std::vector<Status> errors;
  };
  Round ReconcileAll();  // reconciles each DistTraining once, in order of names

  bool awaits_workloads = false;
  bool awaits_pod_groups = false;

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
  // `options` are those of each operator process; wall_clock and poll_progress are replaced.
  explicit OperatorWorld(controller::ControllerOptions options = {});
  ~OperatorWorld();

  // Creates a valid DistTraining "ml/<name>" with `spec` merged into its spec (RFC 7396).
  void Create(const std::string& name, const kube::Json& spec = kube::Json::object());
  // Changes the spec, like kubectl edit.
  void Edit(const std::string& name, const kube::Json& spec_patch);
  void RestartOperator();  // keeps awaits_workloads and awaits_pod_groups

  // Syncs the caches, reconciles each job, and steps the cluster. Returns false if nothing changed.
  bool Turn();
  void Settle();  // calls Turn until nothing changes
  void Advance(std::chrono::nanoseconds time) { wall.Advance(time); }
  // Runs turns until the condition holds, and advances the time to the next requeue when nothing changes. Returns false
  // after `longest`.
  bool RunUntil(const std::function<bool()>& condition, std::chrono::seconds longest = std::chrono::minutes(10));
  void RunFor(std::chrono::seconds time);

  bool Exists(const std::string& name) const;
  api::Status StatusOf(const std::string& name) const;
  std::string PhaseOf(const std::string& name) const;  // as printed
  bool RunUntilPhase(const std::string& name, const std::string& phase,
                     std::chrono::seconds longest = std::chrono::minutes(10));
  // Returns the sorted names of all objects of a kind.
  std::vector<std::string> Names(const kube::Resource& resource) const;
  // Returns kind and name of all children, sorted: "Job cora-trainer-1".
  std::vector<std::string> Children() const;

  std::string LastRequests() const;

  WallTimer wall;
  client::FakeApiServer server;
  FakeCluster cluster;
  std::unique_ptr<TestOperator> op;

 private:
  const controller::ControllerOptions options_;
};

}  // namespace espalier::ctl::cluster
