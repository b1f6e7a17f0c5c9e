// Explains reasons and exit codes to users.
#pragma once

#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::view {

// Returns the meaning of an exit code: that in docs/exit-codes.md, "killed by signal 9 (SIGKILL)" for 128 + signal, or
// "not one of Espalier's exit codes".
std::string ExitCodeText(int code);

// Returns the reason that the user should act on. For a failed job, this is the reason of the condition Failed, or the
// cause of the last failure if the job exceeded its backoffLimit. For a job that has not ended, it is the reason of
// status.lastError; without a lastError it is the blocker, but only if there is advice for it. Empty: there is no such
// reason.
std::string ReasonToActOn(const api::Status& status);

// Returns advice on what to do about `reason`; empty if there is none for it. The advice names fields of `role`
// ("trainer"), or "spec.<role>" if `role` is empty. `message` came with the reason: it shows whether bad credentials
// are a certificate or those of an object store.
std::string AdviceFor(const std::string& reason, const std::string& role, const std::string& message = "");

}  // namespace espalier::ctl::view
