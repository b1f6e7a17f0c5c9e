// Each Add... function declares one subcommand. The parser's callback stores the command in *chosen. The command
// captures its flags as a shared_ptr, so that they live as long as it does. All subcommands also have the flags that
// select a cluster (AddClusterFlags).
#include "operator/kubectl/flags.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "operator/api/dist_training.h"
#include "operator/kubectl/outputs/selection.h"

namespace espalier::ctl::kubectl {
namespace {

constexpr const char* kStatusFooter = R"(Examples:
  kubectl espalier status                    # all jobs of the namespace
  kubectl espalier status -A                 # all jobs of all namespaces
  kubectl espalier status cora               # one job: roles, conditions, progress, events, location of outputs
  kubectl espalier status cora --watch       # live, until it has ended
  kubectl espalier status cora -o json

With --watch the exit code is 0 when the job has succeeded and 1 when it has failed.)";
constexpr const char* kLogsFooter = R"(Examples:
  kubectl espalier logs cora                            # all pods, lines sorted by time
  kubectl espalier logs cora --role trainer --rank 0 -f
  kubectl espalier logs cora --role server --previous   # before the containers' last restart
  kubectl espalier logs cora --tail 20

Each line begins with a label such as [trainer-0]. With -f, pods that start later are followed too, until the job has
ended and none of its pods runs.)";
constexpr const char* kDescribeFooter = R"(Example:
  kubectl espalier describe cora

Explains why a job has failed or makes no progress: condition, attempts, the pod that failed, the meaning of its exit
code, its termination message and last log lines, warnings, and the remedy.)";
constexpr const char* kFetchFooter = R"(Examples:
  kubectl espalier fetch cora                          # everything, to ./cora
  kubectl espalier fetch cora --to results --what model,metrics
  kubectl espalier fetch cora --use-job-credentials --endpoint http://127.0.0.1:9000

Credentials come from the environment (AWS_ACCESS_KEY_ID and the other variables of AWS's tools), or with
--use-job-credentials from the job's Secret. Every file is verified against the checksums in the
manifest; repeat an interrupted fetch to continue it. `espalier verify DIR` checks the folder later.)";
constexpr const char* kSuspendFooter = R"(Example:
  kubectl espalier suspend cora     # the job writes a checkpoint, then its pods are deleted
  kubectl espalier resume cora)";

// Parses a timeout in a subset of kubectl's syntax: a Go duration in whole hours, minutes, seconds and milliseconds, or
// whole seconds without a unit. Returns nullopt if it is invalid or longer than a day.
std::optional<std::chrono::nanoseconds> ParseRequestTimeout(std::string_view text) {
  constexpr std::chrono::nanoseconds kMaxTimeout = std::chrono::hours(24);
  const std::pair<std::string_view, std::chrono::nanoseconds> units[] = {{"ms", std::chrono::milliseconds(1)},
                                                                         {"h", std::chrono::hours(1)},
                                                                         {"m", std::chrono::minutes(1)},
                                                                         {"s", std::chrono::seconds(1)}};
  std::chrono::nanoseconds total{0};
  bool has_unit = false;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty() && has_unit) return std::nullopt;  // "1m30"
    const auto unit = std::find_if(std::begin(units), std::end(units),
                                   [text](const auto& one) { return text.starts_with(one.first); });
    if (!text.empty() && unit == std::end(units)) return std::nullopt;
    const std::chrono::nanoseconds one = text.empty() ? std::chrono::seconds(1) : unit->second;
    if (number > (kMaxTimeout - total) / one) return std::nullopt;
    total += int64_t{number} * one;
    if (!text.empty()) text.remove_prefix(unit->first.size());
    has_unit = true;
  }
  return total;
}

void AddClusterFlags(CLI::App* command, ClusterFlags* flags) {
  command->add_option("-n,--namespace", flags->name_space, "The job's namespace; by default the context's");
  command->add_option("--context", flags->context, "A context of the kubeconfig; by default the current one");
  command->add_option("--kubeconfig", flags->kubeconfig, "The kubeconfig; by default $KUBECONFIG, then ~/.kube/config");
  client::KubeOverrides& overrides = flags->overrides;
  command->add_option("--cluster", overrides.cluster, "A cluster of the kubeconfig; by default the context's");
  command->add_option("--user", overrides.user, "A user of the kubeconfig; by default the context's");
  command->add_option("-s,--server", overrides.server, "The API server's URL; by default the cluster's");
  command->add_option("--certificate-authority", overrides.ca_file,
                      "A file with the CA certificates that the API server's certificate is verified with");
  command->add_flag("--insecure-skip-tls-verify", overrides.skip_verification,
                    "Do not verify the server's certificate; insecure");
  command->add_option("--tls-server-name", overrides.tls_server_name,
                      "The name that the API server's certificate must have; by default the host of the URL");
  command->add_option("--token", overrides.token, "A bearer token; by default the user's credentials");
  command->add_option("--as", overrides.as, "The user to act as");
  command->add_option("--as-group", overrides.as_groups, "A group to act as; repeatable")->allow_extra_args(false);
  command->add_option("--as-uid", overrides.as_uid, "The uid to act as");
  command->add_option_function<std::string>(
      "--request-timeout",
      [flags](const std::string& text) {
        const std::optional<std::chrono::nanoseconds> timeout = ParseRequestTimeout(text);
        if (!timeout)
          throw CLI::ValidationError("--request-timeout", "'" + text + "': expected a time such as 30, 10s or 1m30s");
        flags->request_timeout = *timeout;
      },
      "Time limit of one request: seconds, or a duration such as 10s, 2m or 1m30s; 0 (the default) means 30 s");
}

void AddOutputFlag(CLI::App* command, bool* as_json) {
  command
      ->add_option_function<std::string>(
          "-o,--output", [as_json](const std::string&) { *as_json = true; }, "Output format; by default text")
      ->check(CLI::IsMember({"json"}));
}

std::vector<std::string> RoleNames() {
  std::vector<std::string> names;
  for (const api::Role role : api::kRoles) names.emplace_back(api::ToString(role));
  return names;
}

CLI::App* AddStatus(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("status", "Show the state of jobs");
  command->footer(kStatusFooter);
  auto flags = std::make_shared<StatusFlags>();
  auto watch = std::make_shared<bool>(false);
  CLI::Option* name = command->add_option("name", flags->name, "A DistTraining; without a name, all of them");
  CLI::Option* all =
      command->add_flag("-A,--all-namespaces", flags->all_namespaces, "Jobs of all namespaces")->excludes(name);
  CLI::Option* watching =
      command->add_flag("-w,--watch", *watch, "Update the output until the job has ended")->needs(name)->excludes(all);
  AddOutputFlag(command, &flags->as_json);
  watching->excludes(command->get_option("--output"));
  command->callback([=] {
    *chosen = [flags, watch](const CommandContext& context) {
      return *watch ? WatchStatus(flags->name, context) : ShowStatus(*flags, context);
    };
  });
  return command;
}

CLI::App* AddLogs(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("logs", "Print the logs of a job's pods");
  command->footer(kLogsFooter);
  auto flags = std::make_shared<LogsFlags>();
  command->add_option("name", flags->name, "A DistTraining")->required();
  command->add_option("--role", flags->role, "Only pods with this role")->check(CLI::IsMember(RoleNames()));
  command
      ->add_option("--rank", flags->rank, "Only pods with this rank: for servers the partition, else the pod's index")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
  CLI::Option* follow =
      command->add_flag("-f,--follow", flags->follow, "Also print new lines, until the job has ended");
  command->add_flag("-p,--previous", flags->previous, "Logs of the containers before their last restart")
      ->excludes(follow);
  command->add_flag("--timestamps", flags->timestamps, "Print the time of each line");
  command->add_option("--tail", flags->tail_lines, "Only the last lines of each log: at most this number")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  command->add_option("--max-pods", flags->max_pods, "Maximum number of program containers whose logs are read at once")
      ->check(CLI::Range(size_t{1}, size_t{1024}))
      ->capture_default_str();
  command->callback([=] { *chosen = [flags](const CommandContext& context) { return PrintLogs(*flags, context); }; });
  return command;
}

CLI::App* AddDescribe(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("describe", "Explain why a job has failed, on one screen");
  command->footer(kDescribeFooter);
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "A DistTraining")->required();
  command->callback([=] { *chosen = [name](const CommandContext& context) { return Describe(*name, context); }; });
  return command;
}

CLI::App* AddFetch(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("fetch", "Copy a job's results to this machine");
  command->footer(kFetchFooter);
  auto flags = std::make_shared<FetchFlags>();
  command->add_option("name", flags->name, "A DistTraining that has succeeded")->required();
  command->add_option("--to", flags->folder, "The target folder; by default the job's name");
  command->add_option("--what", flags->choices, "Kinds of results, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(outputs::Choices()))
      ->capture_default_str();
  command->add_option(
      "--endpoint", flags->endpoint,
      "The URL at which this machine reaches the S3 service; by default $AWS_ENDPOINT_URL_S3, then the document's");
  command->add_flag("--use-job-credentials", flags->use_job_credentials,
                    "Use the credentials in the job's Secret, which you must be allowed to read");
  command->add_flag("-q,--quiet", flags->quiet, "Show no progress");
  AddOutputFlag(command, &flags->as_json);
  command->callback([=] { *chosen = [flags](const CommandContext& context) { return Fetch(*flags, context); }; });
  return command;
}

CLI::App* AddSuspendCommand(CLI::App* app, SuspendAction action, Command* chosen) {
  CLI::App* command =
      action == SuspendAction::kSuspend
          ? app->add_subcommand("suspend", "Suspend a job: it writes a checkpoint, and its pods are deleted")
          : app->add_subcommand("resume", "Resume a suspended job");
  command->footer(kSuspendFooter);
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "A DistTraining")->required();
  command->callback([=] {
    *chosen = [action, name](const CommandContext& context) { return SuspendOrResume(action, *name, context); };
  });
  return command;
}

}  // namespace

void AddCommands(CLI::App* app, ClusterFlags* cluster, Command* chosen) {
  app->require_subcommand(1);
  for (CLI::App* command : {AddStatus(app, chosen), AddLogs(app, chosen), AddDescribe(app, chosen),
                            AddFetch(app, chosen), AddSuspendCommand(app, SuspendAction::kSuspend, chosen),
                            AddSuspendCommand(app, SuspendAction::kResume, chosen)}) {
    AddClusterFlags(command, cluster);
  }
}

}  // namespace espalier::ctl::kubectl
