// Retry delays: exponential backoff with jitter.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier {

struct RetryPolicy {
  int max_attempts = 5;  // including the first call
  std::chrono::milliseconds initial_delay{50};
  std::chrono::milliseconds max_delay{2000};
};

// Returns the delay before retry number `retry`; the first retry is number 1. The longest delay is
// initial_delay * 2^(retry - 1), at most max_delay. `random_word`, a uniformly distributed number, selects a delay
// between half of the longest delay and all of it, so that clients that failed together do not retry together.
std::chrono::milliseconds DelayBefore(int retry, const RetryPolicy& policy, uint32_t random_word);

}  // namespace espalier
