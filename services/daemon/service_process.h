// The common part of the graph server's and the sampler's processes: admin port, readiness, waiting for SIGTERM, exit
// codes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "services/base/clock.h"
#include "services/base/exit_code.h"
#include "services/daemon/tls_flags.h"
#include "services/rpc/server.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/log.h"
#include "services/telemetry/metrics.h"

namespace espalier::daemon {

struct ProcessOptions {
  std::string listen = "127.0.0.1:0";
  bool insecure_listen_any = false;
  TlsFlags tls;
  std::string admin_listen = "127.0.0.1:0";
  std::string ready_file;  // empty: no ready file
  std::string log_format = "auto";
  int threads = 0;  // 0: one per processor
  int drain_seconds = 10;
  uint32_t max_request_mib = 64;
  uint32_t max_reply_mib = 256;
};

// Declares the flags of ProcessOptions, each with an environment variable.
void AddProcessFlags(CLI::App& app, ProcessOptions* options);
// Checks the values of the flags. InvalidArgument names the flag and what is wrong with it.
Status CheckFlags(const ProcessOptions& options);
// Returns the listening address and message sizes for the RPC server.
rpc::ServerOptions MakeRpcOptions(const ProcessOptions& options);
// Returns the number of threads that serve requests: options.threads, or the number of processors if it is 0.
int CountThreads(const ProcessOptions& options);

// A service process with an admin server, which reports "starting" until ServeUntilStopped is called. At most one
// object per process.
class ServiceProcess {
 public:
  // Installs signal handlers and logging, opens the admin port, and logs the configuration: the options of `app` and
  // `fields`, which replace options of the same name. `role` is a field of all log records.
  static Result<std::unique_ptr<ServiceProcess>> Start(const std::string& role, const ProcessOptions& options,
                                                       const CLI::App& app, std::vector<telemetry::Field> fields);

  telemetry::MetricRegistry& metrics() { return *metrics_; }
  // The same registry with shared ownership, for objects that may update metrics after this object is destroyed.
  const std::shared_ptr<telemetry::MetricRegistry>& shared_metrics() const { return metrics_; }
  // Returns the token for calls and waits; its stop is requested on SIGTERM or SIGINT.
  std::stop_token stop() const { return stop_.get_token(); }
  telemetry::AdminServer& admin() { return *admin_; }

  // Reports on the admin port, in the ready file and in the log that the process is ready; `address` is where its RPC
  // server listens. Waits for SIGTERM or SIGINT, then calls `drain` with the deadline for draining. Returns the
  // process's exit code.
  ExitCode ServeUntilStopped(const std::string& address, const std::function<void(Deadline)>& drain);

 private:
  explicit ServiceProcess(const ProcessOptions& options);

  const ProcessOptions options_;
  const std::shared_ptr<telemetry::MetricRegistry> metrics_ = std::make_shared<telemetry::MetricRegistry>();
  std::unique_ptr<telemetry::AdminServer> admin_;  // reads metrics_
  std::stop_source stop_;
  std::jthread signal_watcher_;  // declared last: uses stop_
};

// The main function of a service: parses and checks the flags (exit code 64 if they are wrong), arms failpoints, and
// calls `run`. Returns the exit code.
int ParseAndRun(CLI::App& app, int argc, char** argv, const ProcessOptions& options,
                const std::function<Result<ExitCode>()>& run);

}  // namespace espalier::daemon
