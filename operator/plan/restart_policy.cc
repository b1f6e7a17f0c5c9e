#include "operator/plan/restart_policy.h"

#include <algorithm>
#include <string_view>

#include "operator/plan/reasons.h"
#include "services/base/exit_code.h"
#include "services/base/failure_policy.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::plan {
namespace {

bool IsIntended(std::string_view reason) { return reason.empty() || reason == kResumed || reason == kScaled; }

}  // namespace

bool IsCountedRestart(const std::string& reason) {
  static const std::string kStopped = telemetry::TerminationReason(ExitCode::kAskedToStop);
  const bool is_not_counted = reason == kStopped || reason == kStoppedSoon || reason == kDisrupted ||
                              reason == kNodeLost || reason == kServerLost || reason == kHeldBack ||
                              reason == kCertificatesReplaced || reason == kJobDeleted;
  return !IsIntended(reason) && !is_not_counted;
}

std::optional<kube::WallTime> EarliestStart(const api::Status& status, kube::WallTime now) {
  if (IsIntended(status.restart_reason)) return std::nullopt;
  const api::Condition* restarting = api::FindCondition(status, api::kRestarting);
  if (restarting == nullptr || restarting->status != api::ConditionStatus::kTrue) return std::nullopt;
  const bool counted = IsCountedRestart(status.restart_reason);
  const kube::WallTime since = std::min(restarting->last_transition, now);  // the clock may have been set back
  return since + (counted ? DelayAfterFailures(status.attempts_counted, kFirstBackoff, kMaxBackoff) : kShortBackoff);
}

bool IsExhausted(const api::Status& status, int64_t backoff_limit) { return status.attempts_counted > backoff_limit; }

}  // namespace espalier::ctl::plan
