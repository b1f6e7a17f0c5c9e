// Parses the termination message that an Espalier process writes to its termination log
// (services/telemetry/termination.h). The bytes come from a container and are not trusted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/telemetry/termination.h"

namespace espalier::ctl::plan {

struct Termination {
  std::string message;
  std::optional<telemetry::TerminationMessage::Partition> partition;
  std::string script_sha256;              // digest of the program's script; empty: no script was read
  std::optional<int64_t> epochs;          // epochs trained, by all incarnations together
  std::map<std::string, double> metrics;  // final metrics that are numbers
};

// Returns nullopt if the text is not a termination message. `partition` is also unset if its hash, the partition key,
// cannot be part of a URI.
std::optional<Termination> ParseTermination(std::string_view text);

}  // namespace espalier::ctl::plan
