// The learning rate as a pure function of the global step.
#pragma once

#include <cstdint>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// How long a run is, in steps.
struct RunLength {
  int64_t steps_per_epoch = 1;
  int64_t epochs = 1;
};

// The rate of step `global_step` = 0, 1, .... During the first warmup_steps it rises evenly, the last of them having
// the full base rate. After that, with progress p in [0, 1) through what is left:
//   Constant  base        Linear  base (1 - p)        Cosine  base (1 + cos(pi p)) / 2
//   Step      base * factor^floor(epochs since the start / step_epochs)
double LearningRateAt(const job::LearningRateSchedule& schedule, double base, const RunLength& run,
                      int64_t global_step);

}  // namespace espalier::trainer
