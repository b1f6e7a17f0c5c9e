// Runs the partitioning pipeline as a process with an admin port, a log, a report and an exit code.
#pragma once

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "services/base/exit_code.h"
#include "services/job/parsing/parse.h"
#include "services/partitioner/main/partitioner_flags.h"

namespace espalier::partitioner {

// Partitions the document's graph into the store at `output_uri`, writes the report to standard output and returns the
// exit status of the process (docs/exit-codes.md). `app` is the parsed command line, for the log. Installs signal
// handling and opens the admin port, so it may be called once per process, before other threads start.
int RunPartitioner(const PartitionerFlags& flags, const CLI::App& app, const job::ParsedJob& parsed,
                   const std::string& output_uri, const std::optional<GroupOptions>& group);

}  // namespace espalier::partitioner
