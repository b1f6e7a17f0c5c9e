// Explains reasons and exit codes to users.
#pragma once

#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::view {

// Returns the meaning of an exit code: from docs/exit-codes.md for Espalier's processes, signals by name.
std::string ExitCodeText(int code);

// Returns the reason that the user should act on: for a job that exceeded its backoffLimit, the cause of the last
// failure; for a job that does not proceed, its blocker. Empty: there is none.
std::string ReasonToActOn(const api::Status& status);

// Returns advice on what to do about `reason`. `role` ("trainer"), if not empty, decides which fields of the document
// the advice names. `message` came with the reason. Empty for a reason that is not one of the operator's.
std::string AdviceFor(const std::string& reason, const std::string& role, const std::string& message = "");

}  // namespace espalier::ctl::view
