// One process's partitioning: the pipeline with its admin port, log, report and exit code.
#pragma once

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "services/base/exit_code.h"
#include "services/job/parse.h"
#include "services/partitioner/main/partitioner_flags.h"

namespace espalier::partitioner {

// Writes `status` to the log and as the termination message, and returns `code` as the process's exit status.
int Fail(const Status& status, ExitCode code);

// Partitions the document's graph into the store at `output_uri`, writes the report to standard output and returns the
// process's exit status (docs/exit-codes.md). `app` is the parsed command line, for the log. Once per process: installs
// signal handling and opens the admin port.
int RunPartitioner(const PartitionerFlags& flags, const CLI::App& app, const job::ParsedJob& parsed,
                   const std::string& output_uri, const std::optional<GroupOptions>& group);

}  // namespace espalier::partitioner
