// Logs the configuration of a process as one line at its start.
#pragma once

#include <string>
#include <vector>

#include "services/telemetry/log.h"

namespace CLI {
class App;
}

namespace espalier::telemetry {

// Returns every option of a parsed command line that has a long name, except help and version, as a field. The key is
// the long name with _ for -. The value is that of the command line or the environment variable, or else the default in
// --help; "true" or "false" for a flag; a comma-separated list for several values. A field in `overrides` replaces the
// option with the same key, for example by the actual number of threads or an address with the bound port; these fields
// come last. No option contains a secret: options name files instead.
std::vector<Field> ToFields(const CLI::App& app, std::vector<Field> overrides = {});

// Returns JSON text, such as a job document, on one line. Returns text that is not JSON unchanged.
std::string OneLine(const std::string& json);

// Logs the line "configuration" of a process with the fields of ToFields.
void LogConfiguration(const CLI::App& app, std::vector<Field> overrides = {});

}  // namespace espalier::telemetry
