// The life of a service process: Start installs signal handlers and opens the admin port, which reports "starting" for
// now; the program loads its data and starts its RPC server; ServeUntilStopped writes the ready file, reports readiness
// and blocks until SIGTERM or SIGINT, then reports "stopping" and drains. A watcher thread turns the signal into a stop
// request, so that loading can be interrupted too.
#include "services/daemon/service_process.h"

#include <utility>

#include "services/base/failpoint.h"
#include "services/base/heap.h"
#include "services/base/host_port.h"
#include "services/base/parallel.h"
#include "services/telemetry/configuration.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::daemon {

using telemetry::Level;
using telemetry::Log;

void AddProcessFlags(CLI::App& app, ProcessOptions* options) {
  app.add_option("--listen", options->listen, "host:port of the RPCs; port 0 selects a free port")
      ->envname("ESPALIER_LISTEN")
      ->capture_default_str();
  app.add_flag("--insecure-listen-any", options->insecure_listen_any,
               "allow --listen on addresses that other machines can reach: connections are neither encrypted nor "
               "authenticated")
      ->envname("ESPALIER_INSECURE_LISTEN_ANY");
  AddTlsFlags(app, &options->tls);
  app.add_option("--admin-listen", options->admin_listen, "host:port of /metrics, /livez, /readyz and /status")
      ->envname("ESPALIER_ADMIN_LISTEN")
      ->capture_default_str();
  app.add_option("--ready-file", options->ready_file,
                 "where to write {\"address\", \"adminAddress\", \"pid\"} once the process serves")
      ->envname("ESPALIER_READY_FILE");
  app.add_option("--log-format", options->log_format, "text, json, or auto (text on a terminal)")
      ->envname("ESPALIER_LOG_FORMAT")
      ->capture_default_str();
  app.add_option("--threads", options->threads, "threads that serve requests; 0: number of processors")
      ->envname("ESPALIER_THREADS")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--drain-seconds", options->drain_seconds, "time limit after SIGTERM for calls in progress")
      ->envname("ESPALIER_DRAIN_SECONDS")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  app.add_option("--max-request-mib", options->max_request_mib, "larger requests are refused")
      ->envname("ESPALIER_MAX_REQUEST_MIB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-reply-mib", options->max_reply_mib, "requests with larger responses are refused")
      ->envname("ESPALIER_MAX_REPLY_MIB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

rpc::ServerOptions MakeRpcOptions(const ProcessOptions& options) {
  rpc::ServerOptions rpc;
  rpc.listen = options.listen;
  rpc.allow_other_hosts = options.insecure_listen_any || options.tls.any();
  rpc.max_request_bytes = size_t{options.max_request_mib} << 20;
  rpc.max_reply_bytes = size_t{options.max_reply_mib} << 20;
  return rpc;
}

Status CheckFlags(const ProcessOptions& options) {
  RETURN_IF_ERROR(telemetry::ParseLogFormat(options.log_format).status().While("--log-format"));
  RETURN_IF_ERROR(ParseHostPort(options.admin_listen).status().While("--admin-listen"));
  RETURN_IF_ERROR(CheckTlsFlags(options.tls));
  return rpc::CheckListenAddress(MakeRpcOptions(options)).While("--listen");
}

int CountThreads(const ProcessOptions& options) {
  return options.threads > 0 ? options.threads : AvailableProcessors();
}

ServiceProcess::ServiceProcess(const ProcessOptions& options) : options_(options) {
  signal_watcher_ = std::jthread([this](const std::stop_token& ended) {
    const telemetry::StopSignal& signal = telemetry::StopSignal::Install();
    while (!ended.stop_requested()) {
      if (!signal.WaitUntil(Deadline::After(std::chrono::milliseconds(100)))) continue;
      stop_.request_stop();
      return;
    }
  });
}

Result<std::unique_ptr<ServiceProcess>> ServiceProcess::Start(const std::string& role, const ProcessOptions& options,
                                                              const CLI::App& app,
                                                              std::vector<telemetry::Field> fields) {
  KeepFreedMemory();
  telemetry::LogOptions log;
  ASSIGN_OR_RETURN(log.format, telemetry::ParseLogFormat(options.log_format));
  log.process_fields = {{"role", role}};
  telemetry::InitializeLogging(std::move(log));
  telemetry::StopSignal::Install();
  std::unique_ptr<ServiceProcess> process(new ServiceProcess(options));
  process->metrics_->AddProcessMetrics();
  telemetry::AdminServerOptions admin;
  admin.listen_address = options.admin_listen;
  ASSIGN_OR_RETURN(process->admin_, telemetry::AdminServer::Start(admin, *process->metrics_));
  fields.push_back({"threads", CountThreads(options)});
  fields.push_back({"admin", process->admin_->address()});
  telemetry::LogConfiguration(app, std::move(fields));
  return process;
}

ExitCode ServiceProcess::ServeUntilStopped(const std::string& address, const std::function<void(Deadline)>& drain) {
  if (!options_.ready_file.empty()) {
    telemetry::ReadyFile ready;
    ready.address = address;
    ready.admin_address = admin_->address();
    if (const Status written = telemetry::WriteReadyFile(options_.ready_file, ready); !written.ok()) {
      return static_cast<ExitCode>(telemetry::Fail(written));
    }
  }
  admin_->SetReady();
  Log(Level::kInfo, "serving", {{"address", address}, {"admin", admin_->address()}});

  telemetry::StopSignal& stop = telemetry::StopSignal::Install();
  stop.Wait();
  admin_->SetNotReady("stopping");
  Log(Level::kInfo, "asked to stop", {{"signal", stop.signal_number()}, {"drain_seconds", options_.drain_seconds}});
  drain(Deadline::After(std::chrono::seconds(options_.drain_seconds)));
  Log(Level::kInfo, "stopped");
  telemetry::WriteTermination(Cancelled("stopped on request"), ExitCode::kAskedToStop);
  return ExitCode::kAskedToStop;
}

int ParseAndRun(CLI::App& app, int argc, char** argv, const ProcessOptions& options,
                const std::function<Result<ExitCode>()>& run) {
  telemetry::InstallOutOfMemoryHandler();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }
  if (const Status checked = CheckFlags(options); !checked.ok())
    return telemetry::Fail(checked, ExitCode::kBadDocument);
  if (const Status armed = ArmFailpointsFromEnvironment(); !armed.ok())
    return telemetry::Fail(armed, ExitCode::kBadDocument);
  const Result<ExitCode> ended = run();
  return ended.ok() ? static_cast<int>(*ended) : telemetry::Fail(ended.status());
}

}  // namespace espalier::daemon
