// Logs the configuration of a process as one line at its start.
#pragma once

#include <string>
#include <vector>

#include "services/telemetry/log.h"

namespace CLI {
class App;
}

namespace espalier::telemetry {

// Returns every option of a parsed command line by its long name with _ for -. The value is the one given on the
// command line or in a variable, or else the default in --help; "true" or "false" for a flag; a comma-separated list
// for several values. `known` holds additional fields and values that replace options of the same name, such as the
// actual number of threads or an address with the bound port; they come last. No option contains a secret: options name
// files instead.
std::vector<Field> ToFields(const CLI::App& app, std::vector<Field> known = {});

// Returns a job document, which is JSON of several lines, as one line. Other text is returned unchanged.
std::string OneLine(const std::string& json);

// Logs the line "configuration" of a process.
void LogConfiguration(const CLI::App& app, std::vector<Field> known = {});

}  // namespace espalier::telemetry
