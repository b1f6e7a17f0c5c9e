#include "services/base/backoff.h"

#include <algorithm>

namespace espalier {

std::chrono::milliseconds DelayBefore(int retry, const RetryPolicy& policy, uint32_t random_word) {
  const int doublings = std::clamp(retry - 1, 0, 30);
  const int64_t longest = std::min<int64_t>(policy.max_delay.count(), policy.initial_delay.count() << doublings);
  const int64_t half = longest / 2;
  return std::chrono::milliseconds(
      half +
      static_cast<int64_t>((static_cast<uint64_t>(random_word) * static_cast<uint64_t>(longest - half + 1)) >> 32));
}

}  // namespace espalier
