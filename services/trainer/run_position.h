// Where a training run is.
#pragma once

#include <cstdint>

#include "services/trainer/checkpoint/epoch_report.h"

namespace espalier::trainer {

// A step that has been taken, with its share of the run.
struct RunPosition {
  uint32_t epoch = 0, step = 0;  // from 0; `step` within the epoch
  uint32_t num_epochs = 0, steps_per_epoch = 0;
  bool stopping = false;   // a stop was requested: no further step follows
  uint32_t num_seeds = 0;  // of this step, over all ranks
  SecondsSplit seconds{};  // of this step
};

}  // namespace espalier::trainer
