// The learning rate as a pure function of the global step.
#pragma once

#include <cstdint>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// The length of a run in steps.
struct RunLength {
  int64_t steps_per_epoch = 1;
  int64_t epochs = 1;
};

// Returns the learning rate of step `global_step`, which counts from 0. During the first warmup_steps steps the rate
// rises linearly; the last of these steps has the base rate. After them, with progress p in [0, 1) through the
// remaining steps, the rate is:
//   Constant  base        Linear  base (1 - p)        Cosine  base (1 + cos(pi p)) / 2
//   Step      base * factor^floor(epoch / step_epochs), epochs counted from 0
double LearningRateAt(const job::LearningRateSchedule& schedule, double base, const RunLength& run,
                      int64_t global_step);

}  // namespace espalier::trainer
