// Runs a program and returns its output, with limits on time and size.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::process {

struct ProgramCall {
  std::string command;  // a path, or a name to look up in the PATH of `environment`
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // the complete environment
  size_t max_output_bytes = 1 << 20;
};

// Returns the standard output of a program that exits with 0. The program writes standard error to that of this
// process, gets an empty input and inherits no other descriptor. It runs in a process group of its own, whose processes
// are killed before this function returns.
//
// NotFound: the program does not exist; Unavailable: it did not exit with 0 ("exit code 1", "signal 9");
// DeadlineExceeded: the program did not end in time; Cancelled: `stop` was requested; ResourceExhausted: the output
// exceeds max_output_bytes. Errors name the command and never contain its output.
Result<std::string> RunProgram(const ProgramCall& call, Deadline deadline, const std::stop_token& stop = {});

}  // namespace espalier::process
