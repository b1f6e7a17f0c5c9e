// Whether a failed Job is followed by another, and when. Everything is in the status, so that an operator that was
// restarted in between waits as long as the one before would have.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "operator/api/status.h"
#include "operator/plan/failure.h"

namespace espalier::ctl::plan {

// Before the next attempt: after the first counted failure, doubled with each further one. As the Job controller's.
inline constexpr std::chrono::seconds kFirstBackoff{10};
inline constexpr std::chrono::seconds kLongestBackoff{360};
// Before what follows something that is not counted: an eviction, a Job deleted by somebody. Long enough for the caches
// to show what is left of its pods.
inline constexpr std::chrono::seconds kShortBackoff{2};

// Did the restart with this `restart_reason` count towards backoffLimit?
bool IsCountedRestart(const std::string& restart_reason);

// Not before this may the Job of the current incarnation or attempt be made; nullopt: at once.
std::optional<kube::WallTime> EarliestStart(const api::Status& status, kube::WallTime now);

// True where backoffLimit allows no attempt after the failures counted so far.
bool IsExhausted(const api::Status& status, int64_t backoff_limit);

}  // namespace espalier::ctl::plan
