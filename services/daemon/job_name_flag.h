// --job-name: by which graph servers know a job.
#pragma once

#include <string>

#include "CLI/CLI.hpp"

namespace espalier::daemon {

// Declares --job-name, with ESPALIER_JOB_NAME, which leaves `name` as it is where neither is given. A name that servers
// would refuse is an error of the command line.
void AddJobNameFlag(CLI::App& app, std::string* name, const std::string& help);

}  // namespace espalier::daemon
