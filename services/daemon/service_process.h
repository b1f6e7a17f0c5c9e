// What the graph server and the sampler share as processes: admin port, readiness, the wait for SIGTERM, exit codes.
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
  std::string ready_file;  // empty: none
  std::string log_format = "auto";
  int threads = 0;  // 0: as many as processors
  int drain_seconds = 10;
  uint32_t max_request_mib = 64;
  uint32_t max_reply_mib = 256;
};

// Declares the flags of ProcessOptions, each with an environment variable.
void AddProcessFlags(CLI::App& app, ProcessOptions* options);
// What is wrong with the flags beyond their syntax.
Status CheckFlags(const ProcessOptions& options);
// The listening address and message sizes of the RPC server.
rpc::ServerOptions MakeRpcOptions(const ProcessOptions& options);
int CountThreads(const ProcessOptions& options);

// The admin server of a process, not ready yet. One per process.
class ServiceProcess {
 public:
  // Installs signal handlers and logging, opens the admin port, and logs the configuration: the options of `app`, and
  // `known` in place of them or besides.
  static Result<std::unique_ptr<ServiceProcess>> Start(const std::string& role, const ProcessOptions& options,
                                                       const CLI::App& app, std::vector<telemetry::Field> known);

  telemetry::MetricRegistry& metrics() { return *metrics_; }
  // For what may count after this has ended.
  const std::shared_ptr<telemetry::MetricRegistry>& shared_metrics() const { return metrics_; }
  // Asked to stop once SIGTERM or SIGINT has come: for calls and waits that take a token.
  std::stop_token stop() const { return stop_.get_token(); }
  telemetry::AdminServer& admin() { return *admin_; }

  // Says that the process serves at `address`, waits for SIGTERM or SIGINT, then calls `drain` with the time it may
  // take. The process's exit code.
  ExitCode ServeUntilStopped(const std::string& address, const std::function<void(Deadline)>& drain);

 private:
  explicit ServiceProcess(const ProcessOptions& options);

  const ProcessOptions options_;
  const std::shared_ptr<telemetry::MetricRegistry> metrics_ = std::make_shared<telemetry::MetricRegistry>();
  std::unique_ptr<telemetry::AdminServer> admin_;  // it reads the metrics
  std::stop_source stop_;
  std::jthread signal_watcher_;  // last: asks stop_
};

// A service's main: parses and checks the flags (64 where they are wrong), arms failpoints, runs. The exit code.
int ParseAndRun(CLI::App& app, int argc, char** argv, const ProcessOptions& options,
                const std::function<Result<ExitCode>()>& run);

// Logs why a process cannot go on; the code it ends with.
int Fail(const Status& status);
int Fail(const Status& status, ExitCode code);

}  // namespace espalier::daemon
