// How long to wait between tries. One policy for every dependency; pure, so that tests need no clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace espalier {

struct RetryPolicy {
  int max_attempts = 5;  // the first call included
  std::chrono::milliseconds initial_delay{50};
  std::chrono::milliseconds max_delay{2000};
};

// The delay before attempt `attempt` (1 is the first retry): exponential with full jitter between half the step
// and the step (so that peers who failed together do not come back together). `random_word` decides the jitter.
std::chrono::milliseconds DelayBefore(int attempt, const RetryPolicy& policy, uint32_t random_word);

}  // namespace espalier
