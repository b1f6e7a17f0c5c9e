// kubectl-espalier: kubectl runs it as `kubectl espalier`; it also works on its own. A signal stops the command through
// a stop token; a second signal ends the process.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/client/in_cluster.h"
#include "operator/client/kube_config.h"
#include "operator/kubectl/flags.h"
#include "operator/kubectl/text/printable.h"
#include "services/base/exit_code.h"
#include "services/telemetry/metrics.h"
#include "services/telemetry/process.h"
#include "services/terminal/unknown_command.h"

namespace espalier::ctl::kubectl {
namespace {

constexpr const char* kDescription =
    "Shows the state of Espalier's jobs on a Kubernetes cluster, explains failures, and fetches results.\n\n"
    "A first look:\n"
    "  kubectl espalier status\n"
    "  kubectl espalier status cora --watch\n"
    "  kubectl espalier fetch cora";

// The longest line that the transport reads, and how much of a log it reads ahead of the printing.
constexpr size_t kMaxLineBytes = 1 << 20;
constexpr size_t kReadAheadBytes = 256 << 10;

void PrintToUser(const std::string& line) {
  const std::string printable = text::Printable(line, text::Spacing::kKeepLinesTabs);
  std::fprintf(stderr, "%s\n", printable.c_str());
}

// Connects with a kubeconfig, as kubectl does. If no kubeconfig exists, and the user has chosen no kubeconfig, context,
// cluster or user, uses the service account of the pod that this process is in, if any. Otherwise an error of the
// kubeconfig is returned, because the service account might belong to another cluster.
Result<client::Connection> Connect(const ClusterFlags& flags, const EnvironmentMap& environment) {
  client::KubeConfigOptions options;
  options.paths = client::FindKubeConfigPaths(flags.kubeconfig, environment);
  options.paths_are_chosen = !flags.kubeconfig.empty() || !FindValue(environment, "KUBECONFIG").empty();
  options.context = flags.context;
  options.environment = environment;
  options.overrides = flags.overrides;
  Result<client::Connection> connection = client::LoadKubeConfig(options);
  const bool has_chosen =
      options.paths_are_chosen || !flags.context.empty() || flags.overrides.chooses_a_cluster_or_user();
  const auto exists = [](const std::string& path) { return access(path.c_str(), F_OK) == 0 || errno != ENOENT; };
  const bool has_file = std::any_of(options.paths.begin(), options.paths.end(), exists);
  if (connection.ok() || has_chosen || has_file) return connection;
  Result<client::Connection> pod = client::LoadInClusterConnection(environment);
  if (!pod.ok()) return connection;
  RETURN_IF_ERROR(client::Impersonate(flags.overrides, &*pod));
  return pod;
}

std::string SelectNamespace(const ClusterFlags& flags, const client::Connection& connection) {
  if (!flags.name_space.empty()) return flags.name_space;
  return connection.name_space.empty() ? "default" : connection.name_space;
}

Result<int> Run(const ClusterFlags& flags, const Command& command, const EnvironmentMap& environment) {
  ASSIGN_OR_RETURN(const client::Connection connection, Connect(flags, environment));
  ASSIGN_OR_RETURN(const std::unique_ptr<client::HttpTransport> transport,
                   client::MakeCpprestTransport(connection, {.user_agent = "kubectl-espalier/" ESPALIER_VERSION,
                                                             .max_line_bytes = kMaxLineBytes,
                                                             .high_water_bytes = kReadAheadBytes}));
  telemetry::MetricRegistry metrics;
  client::ClientMetrics client_metrics(metrics);
  client::ApiClientOptions options;
  options.field_manager = "kubectl-espalier";
  if (flags.request_timeout.count() > 0) options.call_timeout = flags.request_timeout;
  client::ApiClient api(*transport, options, client_metrics);

  const telemetry::StopSignal& signal = telemetry::StopSignal::Install();
  std::stop_source stop;
  const std::jthread stopper([&](const std::stop_token& done) {
    while (!done.stop_requested()) {
      if (!signal.WaitUntil(Deadline::After(std::chrono::milliseconds(100)))) continue;
      stop.request_stop();
      api.Stop();
      return;
    }
  });
  const CommandContext context{
      .api = api,
      .transport = *transport,
      .name_space = SelectNamespace(flags, connection),
      .environment = environment,
      .out = text::StandardOutput(FindValue(environment, "TERM")),
      .note = PrintToUser,
      .wall_now = kube::SystemTime,
      .pause = [&](std::chrono::nanoseconds time) { return !signal.WaitUntil(Deadline::After(time)); },
      .stop = stop.get_token(),
  };
  return command(context);
}

int Main(int argc, char** argv) {
  CLI::App app{kDescription, "kubectl espalier"};
  app.footer("Exit codes: docs/kubectl-plugin.md");
  app.set_version_flag("--version", ESPALIER_VERSION);
  ClusterFlags flags;
  Command chosen;
  AddCommands(&app, &flags, &chosen);
  const std::string unknown = terminal::UnknownCommand(app, "kubectl espalier", argc, argv);
  if (!unknown.empty()) {
    PrintToUser("kubectl espalier: " + unknown);
    return static_cast<int>(ExitCode::kBadDocument);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }
  const EnvironmentMap environment = ReadEnvironment();
  Status ready = client::InitializeCpprest();
  telemetry::StopSignal::Install().ExitOnSecond(static_cast<int>(ExitCode::kAskedToStop));
  const Result<int> ended = ready.ok() ? Run(flags, chosen, environment) : Result<int>(std::move(ready));
  if (ended.ok()) return *ended;
  if (ended.status().code() != StatusCode::kCancelled) PrintToUser("kubectl espalier: " + ended.status().message());
  return static_cast<int>(ToExitCode(ended.status().code()));
}

}  // namespace
}  // namespace espalier::ctl::kubectl

int main(int argc, char** argv) { return espalier::ctl::kubectl::Main(argc, argv); }
