// Changes that partitions cannot make yet, and answer with Unavailable. A server is asked again by its client; a
// partition of this process is asked again here.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "services/base/backoff.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/unique_number.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// The Result of ask(), which is called with growing pauses until it is not Unavailable, or the deadline is near; once
// where a server is among the partitions. Whoever has made the change must not mind being asked again.
template <class Ask>
auto AskUntilAvailable(const std::vector<std::shared_ptr<PartitionAccess>>& partitions, Deadline deadline,
                       const Ask& ask) {
  const bool all_answer_here = std::all_of(partitions.begin(), partitions.end(),
                                           [](const auto& partition) { return partition->tensors().is_in_process(); });
  for (int attempt = 1;; ++attempt) {
    auto answer = ask();
    if (!all_answer_here || answer.status().code() != StatusCode::kUnavailable) return answer;
    const auto delay = DelayBefore(attempt, RetryPolicy{}, static_cast<uint32_t>(UniqueNumber()));
    if (deadline.Remaining() <= delay) return answer;
    Clock::Real().SleepFor(delay);
  }
}

}  // namespace espalier::sampler
