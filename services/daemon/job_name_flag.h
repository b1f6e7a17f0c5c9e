// The flag --job-name: the name that identifies a job to graph servers.
#pragma once

#include <string>

#include "CLI/CLI.hpp"

namespace espalier::daemon {

// Declares --job-name with the environment variable ESPALIER_JOB_NAME. If neither is given, `name` is unchanged. A name
// that graph servers would refuse is a command-line error.
void AddJobNameFlag(CLI::App& app, std::string* name, const std::string& help);

}  // namespace espalier::daemon
