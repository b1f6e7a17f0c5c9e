// Determines when a checkpoint is due: after every n-th step or epoch of the run, and when a duration has passed since
// the last checkpoint.
#pragma once

#include "services/base/clock.h"
#include "services/job/dist_training.h"
#include "services/trainer/checkpoint/loop_snapshot.h"

namespace espalier::trainer {

// Owned by one thread.
class CheckpointTrigger {
 public:
  // `clock` outlives this.
  explicit CheckpointTrigger(const job::Checkpoint& settings, Clock& clock = Clock::Real())
      : settings_(settings), clock_(clock), last_(clock.Now()) {}

  // Returns false if no interval is configured: checkpoints are then written only after a stop request.
  bool HasInterval() const {
    return settings_.every_steps > 0 || settings_.every_epochs > 0 || settings_.every.count() > 0;
  }

  // Returns true if a checkpoint is due after this step. Must be called at every step; stays true until Reset is
  // called.
  bool IsDueAfter(const StepsDone& done) {
    if (settings_.every_steps > 0 && done.global_steps % static_cast<uint64_t>(settings_.every_steps) == 0)
      is_due_ = true;
    if (settings_.every_epochs > 0 && done.ends_epoch && (int64_t{done.epoch} + 1) % settings_.every_epochs == 0)
      is_due_ = true;
    if (settings_.every.count() > 0 && clock_.Now() - last_ >= settings_.every) is_due_ = true;
    return is_due_;
  }

  // Call after a checkpoint was taken or has failed: no checkpoint is due now, and the duration starts again.
  void Reset() {
    is_due_ = false;
    last_ = clock_.Now();
  }

 private:
  const job::Checkpoint settings_;
  Clock& clock_;
  SteadyTime last_;  // time of the last Reset, or of the construction
  bool is_due_ = false;
};

}  // namespace espalier::trainer
