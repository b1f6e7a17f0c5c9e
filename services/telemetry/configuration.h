// What a process works by, as one line of its log at the start.
#pragma once

#include <string>
#include <vector>

#include "services/telemetry/log.h"

namespace CLI {
class App;
}

namespace espalier::telemetry {

// Every option of a command line that has been parsed, by its long name with _ for -: what was given, by the command
// line or a variable, else the default that --help shows; of a flag "true" or "false", of several values the list with
// commas. `known` is what the process knows better ("threads" that were 0, an address with the port that was picked) or
// besides; it comes last, and in place of an option of that name. No option of ours holds a secret: they name files.
std::vector<Field> ToFields(const CLI::App& app, std::vector<Field> known = {});

// A job document, which is JSON of several lines, as one line; what is no JSON stays.
std::string OneLine(const std::string& json);

// The one line "configuration" of a process.
void LogConfiguration(const CLI::App& app, std::vector<Field> known = {});

}  // namespace espalier::telemetry
