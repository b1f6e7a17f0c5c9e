// Commands of the plugin against a fake API server, with all that they print.
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
  // In namespace ml at view::testing::Now(). A wait is over at once and `on_pause` has been called; false: asked to
  // stop.
  Surroundings Around();

  client::FakeApiServer server;
  logs::FakePodLogs transport;  // logs here, all else from `server`
  std::string output;
  std::string notes;  // a line each
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
