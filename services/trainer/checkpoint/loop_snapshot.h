// The state that a training loop needs to resume at a step as if it had not been interrupted, and the interface that
// saves it. Everything else is a function of the position: learning rates, mini-batches, dropout masks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/format/files/safetensors.h"
#include "services/trainer/checkpoint/epoch_report.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

struct LoopSnapshot {
  // The position at which to resume. next_step == steps per epoch: all steps of the epoch are done, but not its
  // evaluation.
  uint32_t epoch = 0;
  uint32_t next_step = 0;
  bool stopped_early = false;  // early stopping has ended training

  std::vector<EpochReport> epochs;         // finished epochs: 0, 1, ...
  EpochReport partial;                     // the current epoch so far; `loss` is the sum over the seeds, not the mean
  std::vector<double> first_epoch_losses;  // of epoch 0, by step
  // The state of EarlyStopping.
  uint32_t best_epoch = 0;
  std::optional<double> best_validation;
  int64_t evaluations_since_best = 0;
  std::optional<double> validation;  // the metric of `model`, if the model was evaluated at this position

  NamedTensors model;      // parameters and buffers
  NamedTensors best;       // those of best_epoch; empty without best_validation or with learnable rows
  NamedTensors optimizer;  // from Optimizer::State
  double seconds = 0;      // duration of the copy, including that of the learnable rows (TakeRows)
};

// The position of a training loop at the end of a step, for SnapshotSink::WantsAfter.
struct StepsDone {
  uint32_t epoch = 0;
  uint64_t global_steps = 0;  // including the current step
  bool ends_epoch = false;    // if true, the state is saved after the epoch's evaluation
};

// Saves snapshots on rank 0. Called by the training thread.
class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  // Returns false if this rank saves no snapshots; the training loop then makes none.
  virtual bool saves() const { return true; }
  // Returns true if the state after this step should be saved. Called at every step, before the all-reduce that also
  // transmits the answer to the other ranks.
  virtual bool WantsAfter(const StepsDone& done) = 0;
  // Waits until no earlier snapshot is being saved, so that the sink never holds the rows of two snapshots. Returns
  // false if one is still being saved at the deadline.
  virtual bool WaitForSnapshotSlot(Deadline deadline) = 0;
  // Takes one piece (data/learnable_rows.h) of the learnable rows at `epoch` and `next_step`, to be saved in the
  // background. Returns false if the deadline passes before there is room for the piece. After the last piece the
  // caller calls Save or SaveLast; after an error, CannotSave.
  virtual Result<bool> TakeRows(uint32_t epoch, uint32_t next_step, const format::Safetensors& piece,
                                Deadline deadline) = 0;
  // Returns true if the state at the end of training should be saved.
  virtual bool WantsEnd() const = 0;
  // Saves the snapshot, usually in the background. The sink reports errors itself; training continues.
  virtual void Save(LoopSnapshot snapshot) = 0;
  // Called instead of Save or SaveLast if the state could not be copied.
  virtual void CannotSave(const Status& why) = 0;
  // Announces SaveLast after a stop request, when time is limited: ends all work that SaveLast does not need.
  virtual void Expedite() = 0;
  // Saves the last snapshot and blocks until it is saved; the process ends afterwards.
  virtual Status SaveLast(LoopSnapshot snapshot) = 0;
};

// The sink of a rank that saves no snapshots.
class NoSnapshots final : public SnapshotSink {
 public:
  bool saves() const override { return false; }
  bool WantsAfter(const StepsDone&) override { return false; }
  bool WaitForSnapshotSlot(Deadline) override { return true; }
  Result<bool> TakeRows(uint32_t, uint32_t, const format::Safetensors&, Deadline) override { return true; }
  bool WantsEnd() const override { return false; }
  void Save(LoopSnapshot) override {}
  void CannotSave(const Status&) override {}
  void Expedite() override {}
  Status SaveLast(LoopSnapshot) override { return Status(); }
};

}  // namespace espalier::trainer
