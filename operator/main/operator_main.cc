// espalier-operator: runs DistTrainings on Kubernetes. The admin server starts before the connection to the API server
// is made, so that problems with the API server can be observed.
#include "CLI/CLI.hpp"
#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/main/end_at_once.h"
#include "operator/main/operator_process.h"
#include "operator/metrics_port/metrics_port.h"
#include "services/telemetry/configuration.h"
#include "services/telemetry/log.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::process {
namespace {

using telemetry::Level;
using telemetry::Log;

// Ends the process at once: other threads may be writing, and another process is about to lead.
void EndWithoutLease() { EndAtOnce("espalier-operator: the lease is lost\n", ExitCode::kUnavailable); }

Status SetUpLogging(const OperatorFlags& flags) {
  telemetry::LogOptions log;
  ASSIGN_OR_RETURN(log.format, telemetry::ParseLogFormat(flags.log_format));
  log.process_fields = {{"role", "operator"}};
  telemetry::InitializeLogging(std::move(log));
  return Status();
}

// Returns null if the admin port serves the metrics.
Result<std::unique_ptr<metrics_port::MetricsPort>> StartMetricsPort(const OperatorFlags& flags,
                                                                    client::HttpTransport& transport,
                                                                    telemetry::MetricRegistry& metrics) {
  if (flags.metrics_listen.empty()) return std::unique_ptr<metrics_port::MetricsPort>();
  metrics_port::MetricsPortOptions options;
  options.listen_address = flags.metrics_listen;
  options.certificate = {flags.metrics_certificate, flags.metrics_key};
  ASSIGN_OR_RETURN(std::unique_ptr<metrics_port::MetricsPort> port,
                   metrics_port::MetricsPort::Start(options, transport, metrics));
  Log(Level::kInfo, "serving metrics over HTTPS", {{"metrics", port->address()}});
  return port;
}

Result<ExitCode> Run(const OperatorFlags& flags, const CLI::App& app, const EnvironmentMap& environment) {
  telemetry::MetricRegistry metrics;
  metrics.AddProcessMetrics();
  telemetry::AdminServerOptions admin_options;
  admin_options.listen_address = flags.admin_listen;
  if (!flags.metrics_listen.empty()) admin_options.paths = telemetry::AdminPaths::kAllButMetrics;
  ASSIGN_OR_RETURN(const std::unique_ptr<telemetry::AdminServer> admin,
                   telemetry::AdminServer::Start(admin_options, metrics));
  Log(Level::kInfo, "started", {{"version", ESPALIER_VERSION}, {"admin", admin->address()}});

  ASSIGN_OR_RETURN(resources::JobDefaults job_defaults, ReadJobDefaults(flags));
  ASSIGN_OR_RETURN(const client::Connection connection, MakeConnection(flags, environment));
  ASSIGN_OR_RETURN(const std::unique_ptr<client::HttpTransport> transport,
                   client::MakeCpprestTransport(connection, {.user_agent = "espalier-operator/" ESPALIER_VERSION}));
  telemetry::StopSignal& stop = telemetry::StopSignal::Install();  // also ignores SIGPIPE, for the metrics port
  ASSIGN_OR_RETURN(const std::unique_ptr<metrics_port::MetricsPort> metrics_port,
                   StartMetricsPort(flags, *transport, metrics));
  const std::string own_namespace = connection.name_space.empty() ? "default" : connection.name_space;
  const OperatorContext context{
      .transport = *transport,
      .admin = *admin,
      .metrics = metrics,
      .stop = stop,
      .watched_namespace = WatchedNamespace(flags, connection),
      .lease_namespace = flags.lease_namespace.empty() ? own_namespace : flags.lease_namespace,
      .identity = MakeIdentity(environment),
      .lease_lost = EndWithoutLease,
      .job_defaults = std::move(job_defaults),
  };
  telemetry::LogConfiguration(app,
                              {{"server", connection.host},
                               {"namespace", context.watched_namespace.empty() ? "(all)" : context.watched_namespace},
                               {"leader_elect", flags.leader_elect},
                               {"lease_namespace", context.lease_namespace},
                               {"identity", context.identity}});
  return RunOperator(flags, context);
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Runs DistTrainings on Kubernetes.\n\nExample:\n  espalier-operator --kubeconfig ~/.kube/config "
      "--namespace default --no-leader-elect",
      "espalier-operator"};
  app.set_version_flag("--version", ESPALIER_VERSION);
  OperatorFlags flags;
  AddOperatorFlags(app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }
  if (const Status checked = CheckOperatorFlags(flags); !checked.ok())
    return telemetry::Fail(checked, ExitCode::kBadDocument);
  const EnvironmentMap environment = ReadEnvironment();
  if (const Status ready = client::InitializeCpprest(); !ready.ok()) return telemetry::Fail(ready, ExitCode::kBug);
  if (const Status logging = SetUpLogging(flags); !logging.ok())
    return telemetry::Fail(logging, ExitCode::kBadDocument);
  telemetry::StopSignal::Install().ExitOnSecond(static_cast<int>(ExitCode::kAskedToStop));

  const Result<ExitCode> ended = Run(flags, app, environment);
  if (!ended.ok()) return telemetry::Fail(ended.status(), ToExitCode(ended.status().code()));
  return static_cast<int>(*ended);
}

}  // namespace
}  // namespace espalier::ctl::process

int main(int argc, char** argv) { return espalier::ctl::process::Main(argc, argv); }
