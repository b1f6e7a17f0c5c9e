// espalier-partitioner: partitions the graph of a job document and writes the partitions to a folder or bucket. Writes
// the report to standard output (one line of JSON, or text on a terminal) and the log to standard error. Exit codes:
// docs/exit-codes.md.
#include "services/base/failpoint.h"
#include "services/base/host_port.h"
#include "services/job/places.h"
#include "services/job/text/read_document.h"
#include "services/partitioner/main/run_partitioner.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::partitioner {
namespace {

Result<job::ParsedJob> ReadJob(const PartitionerFlags& flags) {
  ASSIGN_OR_RETURN(const auto overrides, job::ParseSettings(flags.overrides));
  ASSIGN_OR_RETURN(const std::string text, job::ReadDocument(flags.job_path));
  return job::ParseJob(flags.job_path, text, overrides, job::ReadBy::kRunOrRole, job::SpecTraining::kOptional);
}

Result<std::string> OutputUri(const PartitionerFlags& flags, const job::DistTraining& training) {
  if (!flags.output_uri.empty()) return flags.output_uri;
  std::string uri = job::PartitionsUri(training);
  if (!uri.empty()) return uri;
  return InvalidArgument("no location for the partitions: set --output, spec.graph.partitions.uri or spec.output.uri");
}

int Run(const PartitionerFlags& flags, const CLI::App& app) {
  const Status admin = ParseHostPort(flags.admin_listen).status().While("--admin-listen");
  if (!admin.ok()) return telemetry::Fail(admin, ExitCode::kBadDocument);
  const std::optional<GroupOptions> group = ToGroupOptions(flags);
  if (group) {
    if (const Status good = CheckGroup(*group); !good.ok()) return telemetry::Fail(good, ExitCode::kBadDocument);
  }
  const Result<job::ParsedJob> parsed = ReadJob(flags);
  if (!parsed.ok()) return telemetry::Fail(parsed.status(), ExitCode::kBadDocument);
  const Result<std::string> output_uri = OutputUri(flags, parsed->training);
  if (!output_uri.ok()) return telemetry::Fail(output_uri.status(), ExitCode::kBadDocument);
  return RunPartitioner(flags, app, *parsed, *output_uri, group);
}

int Main(int argc, char** argv) {
  telemetry::InstallOutOfMemoryHandler();
  CLI::App app{"", "espalier-partitioner"};
  PartitionerFlags flags;
  AddPartitionerFlags(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kBadDocument);
  }
  const Result<telemetry::LogFormat> log_format = telemetry::ParseLogFormat(flags.log_format);
  if (!log_format.ok()) return telemetry::Fail(log_format.status(), ExitCode::kBadDocument);
  telemetry::InitializeLogging({.format = *log_format, .process_fields = {{"role", "partitioner"}}});
  if (const Status armed = ArmFailpointsFromEnvironment(); !armed.ok())
    return telemetry::Fail(armed, ExitCode::kBadDocument);
  return Run(flags, app);
}

}  // namespace
}  // namespace espalier::partitioner

int main(int argc, char** argv) { return espalier::partitioner::Main(argc, argv); }
