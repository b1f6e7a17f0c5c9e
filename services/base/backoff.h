// Retry delays: exponential backoff with jitter, one policy for every dependency. The functions are pure, so tests need
// no clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier {

struct RetryPolicy {
  int max_attempts = 5;  // including the first call
  std::chrono::milliseconds initial_delay{50};
  std::chrono::milliseconds max_delay{2000};
};

// Returns the delay before attempt `attempt` (1 is the first retry): exponential, with jitter between half the step and
// the full step, so that peers that failed together do not retry together. `random_word` determines the jitter.
std::chrono::milliseconds DelayBefore(int attempt, const RetryPolicy& policy, uint32_t random_word);

}  // namespace espalier
