// Runs commands of the plugin against a fake API server and records all output.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "operator/client/testing/fake_api_server.h"
#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/logs/testing/fake_pod_logs.h"
#include "operator/kubectl/view/testing/jobs.h"
#include "services/telemetry/metrics.h"

namespace espalier::ctl::kubectl::testing {

class PluginWorld {
 public:
  PluginWorld();

  void Put(const kube::Resource& resource, const kube::Json& object);
  // Returns a context in namespace ml at view::testing::Now(). Its pause does not wait: it calls `on_pause`, and
  // requests a stop if that returns false or is not set.
  CommandContext Context();

  client::FakeApiServer server;
  logs::FakePodLogs transport;  // answers log requests; `server` answers all others
  std::string output;
  std::string notes;  // one per line
  bool is_terminal = false;
  EnvironmentMap environment;
  std::function<bool()> on_pause;
  std::stop_source stop;
  kube::WallTime now = view::testing::Now();

 private:
  telemetry::MetricRegistry metrics_;
  client::ClientMetrics client_metrics_{metrics_};
  client::ApiClient api_;
};

}  // namespace espalier::ctl::kubectl::testing
