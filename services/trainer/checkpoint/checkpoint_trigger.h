// Determines when a checkpoint is due: after a number of steps, a number of epochs or a duration, whichever comes
// first.
#pragma once

#include "services/base/clock.h"
#include "services/job/dist_training.h"
#include "services/trainer/checkpoint/loop_snapshot.h"

namespace espalier::trainer {

// Owned by one thread.
class CheckpointTrigger {
 public:
  // `clock` outlives this.
  explicit CheckpointTrigger(const job::Checkpoint& when, Clock& clock = Clock::Real())
      : when_(when), clock_(clock), last_(clock.Now()) {}

  // Returns false if no interval is configured: checkpoints are then written only after a stop request.
  bool HasAny() const { return when_.every_steps > 0 || when_.every_epochs > 0 || when_.every.count() > 0; }

  // Returns true if a checkpoint is due after this step. Must be called at every step; stays true until Taken.
  bool IsDueAfter(const StepsDone& done) {
    if (when_.every_steps > 0 && done.global_steps % static_cast<uint64_t>(when_.every_steps) == 0) is_due_ = true;
    if (when_.every_epochs > 0 && done.ends_epoch && (int64_t{done.epoch} + 1) % when_.every_epochs == 0)
      is_due_ = true;
    if (when_.every.count() > 0 && clock_.Now() - last_ >= when_.every) is_due_ = true;
    return is_due_;
  }

  // Records that a checkpoint was taken, or has failed, and restarts the duration.
  void Taken() {
    is_due_ = false;
    last_ = clock_.Now();
  }

 private:
  const job::Checkpoint when_;
  Clock& clock_;
  SteadyTime last_;  // of the last Taken, or of the construction
  bool is_due_ = false;
};

}  // namespace espalier::trainer
