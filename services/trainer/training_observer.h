// What a training run tells its process while it runs.
#pragma once

#include <optional>
#include <string>

#include "services/trainer/checkpoint/checkpoint_report.h"
#include "services/trainer/checkpoint/epoch_report.h"
#include "services/trainer/evaluation/run_phase.h"
#include "services/trainer/run_position.h"

namespace espalier::trainer {

// Methods are called on the training thread of their rank, except where they say otherwise, and must not block: the
// other ranks wait for this one. The defaults do nothing.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  // At most once, before the first step: the last step that the checkpoint contains.
  virtual void OnResumed(const RunPosition&) {}
  // After each step.
  virtual void OnStep(const RunPosition&) {}
  // After each epoch that is trained here, with its evaluation; and after one that a stop request cut short.
  virtual void OnEpoch(const EpochReport&) {}
  // When a phase begins and after each chunk of it. `fraction` of the phase is in [0, 1], or unknown (PhaseTracker).
  virtual void OnPhase(RunPhase, std::optional<double> /*fraction*/) {}
  // Around the computation of a step, during which no server is called.
  virtual void OnComputeBegin() {}
  virtual void OnComputeEnd() {}
  // After each chunk of long work between steps: of an evaluation, or of a copy of learnable rows. On rank 0 also
  // before each wait for the memory of a snapshot.
  virtual void OnProgress() {}
  // A stop request takes effect: trainers make no further requests to servers for training, though prefetched
  // mini-batches may still be in flight.
  virtual void OnStopped() {}
  // Mini-batches in flight are not needed any more: after OnStopped, when the last checkpoint is written, and after any
  // error of the training. Where the run continues, OnProgress follows once none is in flight.
  virtual void OnSaved() {}
  // On rank 0 for each checkpoint, on the thread that uploads it.
  virtual void OnCheckpoint(const CheckpointReport&) {}
  // For each entry of TrainOutcome::warnings when it becomes known, from before the first step on.
  virtual void OnWarning(const std::string&) {}
};

}  // namespace espalier::trainer
