// The operator's process over a given transport, from start to stop:
//
//   admin port ─► caches ─► /readyz ─► the lease ─► workers
//   SIGTERM ─► workers drain ─► the client stops, and with it the caches ─► events ─► the lease
//
// The admin port opens before the caches fill, so that a slow start can be observed. The lease is released last, after
// the last write of this process; if a worker does not end in time and may still write, the lease is not released but
// expires. If the lease is lost, the process ends at once: writes may be in progress, and another process leads.
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

// Everything that the process needs besides its flags. All of it must outlive RunOperator.
struct OperatorContext {
  client::HttpTransport& transport;
  telemetry::AdminServer& admin;
  telemetry::MetricRegistry& metrics;
  telemetry::StopSignal& stop;
  std::string watched_namespace;  // "": all
  std::string lease_namespace;
  std::string identity;              // unique per process: holder of the lease, reporter of events
  std::function<void()> lease_lost;  // must end the process, or at least its writes, without blocking
  std::chrono::nanoseconds cache_sync_timeout = std::chrono::seconds(120);
  resources::JobDefaults job_defaults = {};
};

// Runs the operator until a stop is requested and returns kAskedToStop. Returns DeadlineExceeded, naming the missing
// kinds, if the caches are not filled in time.
Result<ExitCode> RunOperator(const OperatorFlags& flags, const OperatorContext& context);

// Returns an identity that is unique per process: "<pod or host>_<16 hexadecimal digits>".
std::string MakeIdentity(const EnvironmentMap& environment);

}  // namespace espalier::ctl::process
