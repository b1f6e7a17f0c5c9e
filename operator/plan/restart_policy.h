// Decides whether another Job follows a failed one, and when. All inputs are in the status, so a restarted operator
// waits as long as the previous one would have.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "operator/api/status.h"
#include "operator/plan/failure.h"

namespace espalier::ctl::plan {

// The delay before the next attempt: kFirstBackoff after the first counted failure, doubled with each further one, as
// in the Job controller.
inline constexpr std::chrono::seconds kFirstBackoff{10};
inline constexpr std::chrono::seconds kMaxBackoff{360};
// The delay after a failure that is not counted, for example an eviction. It is long enough for the caches to show the
// remaining pods.
inline constexpr std::chrono::seconds kShortBackoff{2};

// Returns whether the restart with this `restart_reason` counted towards backoffLimit.
bool IsCountedRestart(const std::string& restart_reason);

// Returns the earliest time at which the Job of the current incarnation or attempt may be created; nullopt: at once.
std::optional<kube::WallTime> EarliestStart(const api::Status& status, kube::WallTime now);

// Returns whether backoffLimit allows no further attempt after the failures counted so far.
bool IsExhausted(const api::Status& status, int64_t backoff_limit);

}  // namespace espalier::ctl::plan
