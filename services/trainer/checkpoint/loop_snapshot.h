// Everything that a training loop needs to go on from a step as if it had never stopped, and who keeps it. The rest
// is a function of the position: learning rates, mini-batches, dropout masks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/format/safetensors.h"
#include "services/trainer/checkpoint/epoch_report.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

struct LoopSnapshot {
  // The step to go on with. next_step == steps per epoch: the epoch's steps are done, its evaluation is not.
  uint32_t epoch = 0;
  uint32_t next_step = 0;
  bool stopped_early = false;

  std::vector<EpochReport> epochs;  // that have ended: 0, 1, ...
  EpochReport partial;              // of the epoch under way; its loss is the sum over the seeds so far
  std::vector<double> first_epoch_losses;
  uint32_t best_epoch = 0;
  std::optional<double> best_validation;
  int64_t evaluations_since_best = 0;
  std::optional<double> validation;  // of `model`, where it was just evaluated

  NamedTensors model;      // parameters and buffers
  NamedTensors best;       // those of best_epoch; empty before the first evaluation
  NamedTensors optimizer;  // Optimizer::State
  double seconds = 0;      // that the copy in memory took, and that of learnable rows, which the sink has before
};

// Where a loop is when it asks whether to save.
struct StepsDone {
  uint32_t epoch = 0;
  uint64_t global_steps = 0;  // the step under way included
  bool ends_epoch = false;    // the state is saved after the epoch's evaluation then
};

// Rank 0's keeper of snapshots. Called by the training thread.
class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  // Whether the state after this step should be saved: asked at every step, before its all-reduce, on which the
  // answer rides to the other ranks.
  virtual bool WantsAfter(const StepsDone& done) = 0;
  // Returns whether nothing is being kept any more, of which it waits for the end a while: there are no two of one
  // state's rows at once.
  virtual bool WaitForSnapshotSlot(Deadline deadline) = 0;
  // The learnable rows of the state at `epoch` and `next_step`, which Save, SaveLast or CannotSave is to end, come
  // piece by piece. Keeps this one in the background; false: there was no room for it until the deadline. After an
  // error CannotSave is next.
  virtual Result<bool> TakeRows(uint32_t epoch, uint32_t next_step, const format::Safetensors& piece,
                                Deadline deadline) = 0;
  // Whether the state at the end of training should be saved.
  virtual bool WantsEnd() const = 0;
  // Keeps it, most likely in the background. What goes wrong is the sink's to report: training goes on.
  virtual void Save(LoopSnapshot snapshot) = 0;
  // In place of Save, where the state could not be had.
  virtual void CannotSave(const Status& why) = 0;
  // SaveLast is next, and there is little time: whatever it does not need ends early.
  virtual void Expedite() = 0;
  // Returns when it is kept: the process ends afterwards.
  virtual Status SaveLast(LoopSnapshot snapshot) = 0;
};

}  // namespace espalier::trainer
