// The life of the operator's process over a given transport:
//
//   admin port ─► caches ─► /readyz ─► the lease ─► workers
//   SIGTERM ─► workers drain ─► the client stops, and with it the caches ─► events ─► the lease
//
// The admin port is there before the caches, so that a slow start can be watched; the lease is given back last, when
// nothing of this process writes any more. A lease that is lost ends the process at once: writes may be under way, and
// somebody else leads.
#pragma once

#include <functional>
#include <string>

#include "operator/client/transport.h"
#include "operator/main/operator_flags.h"
#include "services/base/exit_code.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/metrics.h"
#include "services/telemetry/process.h"

namespace espalier::ctl::process {

// What the process has besides its flags. All outlive Run.
struct OperatorSurroundings {
  client::HttpTransport& transport;
  telemetry::AdminServer& admin;
  telemetry::MetricRegistry& metrics;
  telemetry::StopSignal& stop;
  std::string watched_namespace;  // "": all
  std::string lease_namespace;
  std::string identity;              // unique per process: holder of the lease, reporter of events
  std::function<void()> lease_lost;  // must end the process, or at least its writes, and wait for nothing
  std::chrono::nanoseconds cache_sync_timeout = std::chrono::seconds(120);
  resources::JobDefaults job_defaults = {};
};

// Until asked to stop: kAskedToStop. DeadlineExceeded where the caches are not filled in time, naming the kinds.
Result<ExitCode> RunOperator(const OperatorFlags& flags, const OperatorSurroundings& around);

// "<pod or host>_<16 hexadecimal digits>"
std::string MakeIdentity(const EnvironmentMap& environment);

}  // namespace espalier::ctl::process
