// What an epoch came to.
#pragma once

#include <cstdint>
#include <optional>

namespace espalier::trainer {

// Where an epoch's time went, on this rank. Sampling and fetching go on beside the computation; `wait` is how long
// the computation stood still for them.
struct SecondsSplit {
  double sample = 0, fetch = 0, wait = 0, compute = 0, communicate = 0, evaluate = 0;

  SecondsSplit operator-(const SecondsSplit& before) const {
    return {sample - before.sample,           fetch - before.fetch,      wait - before.wait, compute - before.compute,
            communicate - before.communicate, evaluate - before.evaluate};
  }
};

struct EpochReport {
  uint32_t epoch = 0;
  double loss = 0;  // mean over the epoch's seeds
  double learning_rate = 0;
  std::optional<double> validation;  // the job's metric, where the epoch ended with an evaluation
  double total_seconds = 0;          // evaluation included
  SecondsSplit seconds;
  uint64_t num_seeds = 0;  // of all ranks
};

}  // namespace espalier::trainer
