// From reasons and exit codes to words that help.
#pragma once

#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::view {

// What an exit code of a process says: docs/exit-codes.md for those of our own, signals by name.
std::string ExitCodeText(int code);

// The reason that a person should act on: of a job that failed because it failed too often, why it failed the last
// time; of one that is held up, by what. Empty: nothing is wrong.
std::string ReasonToActOn(const api::Status& status);

// Returns one sentence that says what to do about `reason`; `message` is what came with it. Empty for a reason that is
// none of the operator's.
std::string AdviceFor(const std::string& reason, const std::string& role, const std::string& message = "");

}  // namespace espalier::ctl::view
