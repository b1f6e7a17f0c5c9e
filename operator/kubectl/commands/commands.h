// The subcommands of kubectl-espalier and their flags. Each returns the exit code, or an error whose status code maps
// to it (services/base/exit_code.h).
#pragma once

#include <set>
#include <string>

#include "operator/kubectl/commands/command_context.h"

namespace espalier::ctl::kubectl {

// The exit code of `status --watch` if the job has failed. If kubectl-espalier itself fails, its exit code is one of
// services/base/exit_code.h.
inline constexpr int kJobHasFailed = 1;

struct StatusFlags {
  std::string name;  // empty: all jobs
  bool all_namespaces = false;
  bool as_json = false;
};
// Prints the status of one job, or a table of all jobs.
Result<int> ShowStatus(const StatusFlags& flags, const CommandContext& context);

// Shows the status of the job until it has ended. Returns 0 if it has succeeded, kJobHasFailed if it has failed;
// NotFound if it is deleted, Cancelled when a stop is requested, and errors of reading the job: retryable ones
// (IsRetryable) only after five minutes without success.
Result<int> WatchStatus(const std::string& name, const CommandContext& context);

struct LogsFlags {
  std::string name;
  std::string role;   // empty: all
  int64_t rank = -1;  // view::JobPod::rank; -1: all
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  int64_t tail_lines = -1;  // of each program container (operator/api/program_container.h); -1: all
  size_t max_pods = 64;     // program containers whose logs are read at once; more are an error (ResourceExhausted)
};
// Prints the log lines of the selected pods, each after a label such as "[trainer-0]".
Result<int> PrintLogs(const LogsFlags& flags, const CommandContext& context);

// Explains on one screen why the job has failed or makes no progress.
Result<int> Describe(const std::string& name, const CommandContext& context);

struct FetchFlags {
  std::string name;
  std::string folder;                       // empty: named after the job
  std::set<std::string> choices = {"all"};  // of outputs::Choices()
  std::string endpoint;                     // empty: that of the environment, else of the document
  bool use_job_credentials = false;
  bool as_json = false;
  bool quiet = false;
};
// Downloads the job's outputs and prints a report that lists the files, as JSON if flags.as_json.
Result<int> Fetch(const FetchFlags& flags, const CommandContext& context);

enum class SuspendAction { kSuspend, kResume };
// Changes spec.runPolicy.suspend. Returns FailedPrecondition if the job has ended.
Result<int> SuspendOrResume(SuspendAction action, const std::string& name, const CommandContext& context);

}  // namespace espalier::ctl::kubectl
