// What the graph server and the sampler share as processes: admin port, readiness, the wait for SIGTERM, exit codes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "services/base/clock.h"
#include "services/base/exit_code.h"
#include "services/rpc/server.h"
#include "services/telemetry/admin_server.h"
#include "services/telemetry/metrics.h"

namespace espalier::serving {

struct ProcessOptions {
  std::string listen = "127.0.0.1:0";
  bool insecure_listen_any = false;
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
rpc::ServerOptions RpcOptionsOf(const ProcessOptions& options);
int ThreadsOf(const ProcessOptions& options);

// The admin server of a process, not ready yet. One per process.
class ServiceProcess {
 public:
  // Installs signal handlers and logging, opens the admin port.
  static Result<std::unique_ptr<ServiceProcess>> Start(const std::string& role, const ProcessOptions& options);

  telemetry::MetricRegistry& metrics() { return metrics_; }
  telemetry::AdminServer& admin() { return *admin_; }

  // Says that the process serves at `address`, waits for SIGTERM or SIGINT, then calls `drain` with the time it may
  // take. The process's exit code.
  ExitCode ServeUntilStopped(const std::string& address, const std::function<void(Deadline)>& drain);

 private:
  explicit ServiceProcess(const ProcessOptions& options) : options_(options) {}

  const ProcessOptions options_;
  telemetry::MetricRegistry metrics_;
  std::unique_ptr<telemetry::AdminServer> admin_;  // last: it reads the metrics
};

// Logs why a process cannot go on; the code it ends with.
int Fail(const Status& status);
int Fail(const Status& status, ExitCode code);

}  // namespace espalier::serving
