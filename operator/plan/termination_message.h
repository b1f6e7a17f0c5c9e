// What a process of ours left in its termination log (services/telemetry/termination.h), read by the operator. Bytes of
// a container: anything may be in there.
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
  std::string script_sha256;              // of a program's script that was read; empty: none
  std::optional<int64_t> epochs;          // that a trainer has done, of all incarnations
  std::map<std::string, double> metrics;  // its final ones, which are numbers
};

// nullopt for what is no message of ours. A partition without a hash that can be part of a URI counts as none.
std::optional<Termination> ParseTermination(std::string_view text);

}  // namespace espalier::ctl::plan
