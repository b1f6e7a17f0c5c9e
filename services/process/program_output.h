// Runs a program for what it prints, bounded in time and size.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::process {

struct ProgramCall {
  std::string command;  // a path, or a name that is looked up in the PATH of `environment`
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // all of it
  size_t max_output_bytes = 1 << 20;
};

// Standard output of a program that ended with 0. Its standard error is this process's, its input is empty, and no
// other descriptor of this process reaches it. It runs in a process group of its own, of which nothing is left when
// this returns.
//
// NotFound: there is no such program; Unavailable: it ended otherwise ("exit code 1", "signal 9"); DeadlineExceeded;
// Cancelled: asked to stop; ResourceExhausted: it printed more. Errors name the command and never what it printed.
Result<std::string> OutputOfProgram(const ProgramCall& call, Deadline deadline, const std::stop_token& stop = {});

}  // namespace espalier::process
