// The result of one epoch.
#pragma once

#include <cstdint>
#include <optional>

namespace espalier::trainer {

// The time of an epoch on this rank, in seconds, by activity. Sampling and fetching overlap with the computation;
// `wait` is the time that the computation waited for them.
struct SecondsSplit {
  double sample = 0, fetch = 0, wait = 0, compute = 0, communicate = 0, evaluate = 0;

  SecondsSplit operator-(const SecondsSplit& before) const {
    return {sample - before.sample,           fetch - before.fetch,      wait - before.wait, compute - before.compute,
            communicate - before.communicate, evaluate - before.evaluate};
  }
};

struct EpochReport {
  uint32_t epoch = 0;
  double loss = 0;                   // mean over the epoch's seeds
  double learning_rate = 0;          // of the epoch's last step
  std::optional<double> validation;  // the job's metric; nullopt: not evaluated in this epoch, or undefined
  double total_seconds = 0;          // includes the evaluation
  SecondsSplit seconds;
  uint64_t num_seeds = 0;  // over all ranks
};

}  // namespace espalier::trainer
