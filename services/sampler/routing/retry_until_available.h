// Retries changes that a partition refuses with Unavailable while rows are being created or filled. Calls over RPC are
// retried by the RPC client; calls to partitions in this process are retried here.
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

// Returns the last result of call(). If all partitions are in this process, repeats call() with increasing pauses while
// it returns Unavailable, until the deadline is near; otherwise calls it once. A repeated change must have no further
// effect.
template <class Call>
auto RetryUntilAvailable(const std::vector<std::shared_ptr<PartitionAccess>>& partitions, Deadline deadline,
                         const Call& call) {
  const bool all_in_process = std::all_of(partitions.begin(), partitions.end(),
                                          [](const auto& partition) { return partition->tensors().is_in_process(); });
  for (int attempt = 1;; ++attempt) {
    auto answer = call();
    if (!all_in_process || answer.status().code() != StatusCode::kUnavailable) return answer;
    const auto delay = DelayBefore(attempt, RetryPolicy{}, static_cast<uint32_t>(UniqueNumber()));
    if (deadline.Remaining() <= delay) return answer;
    Clock::Real().SleepFor(delay);
  }
}

}  // namespace espalier::sampler
