// The position of a training run.
#pragma once

#include <cstdint>

#include "services/trainer/checkpoint/epoch_report.h"

namespace espalier::trainer {

// A completed step and its place in the run.
struct RunPosition {
  uint32_t epoch = 0, step = 0;  // from 0; `step` counts within the epoch
  uint32_t num_epochs = 0, steps_per_epoch = 0;
  bool stopping = false;   // whether no further step follows, because a stop was requested
  uint32_t num_seeds = 0;  // of this step, over all ranks
  SecondsSplit seconds{};  // of this step
};

}  // namespace espalier::trainer
