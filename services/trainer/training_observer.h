// Callbacks through which a training run reports its progress to its process.
#pragma once

#include <optional>
#include <string>

#include "services/trainer/checkpoint/checkpoint_report.h"
#include "services/trainer/checkpoint/epoch_report.h"
#include "services/trainer/evaluation/run_phase.h"
#include "services/trainer/run_position.h"

namespace espalier::trainer {

// Unless stated otherwise, methods are called on the training thread of their rank. They must not block, because the
// other ranks wait for this one. The defaults do nothing.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  // Called at most once, before the first step, with the last step that the checkpoint contains.
  virtual void OnResumed(const RunPosition&) {}
  // Called after each step.
  virtual void OnStep(const RunPosition&) {}
  // Called after each epoch of this run and its evaluation, and after an epoch that a stop request cut short.
  virtual void OnEpoch(const EpochReport&) {}
  // Called when a phase begins and after each chunk of its work. `fraction` is the completed fraction in [0, 1], or
  // nullopt if it is unknown (PhaseTracker).
  virtual void OnPhase(RunPhase, std::optional<double> /*fraction*/) {}
  // Called before and after each computation within a step. In between, this thread calls no server.
  virtual void OnComputeBegin() {}
  virtual void OnComputeEnd() {}
  // Called at least once per chunk of an evaluation between epochs, and once when the training loop has ended without
  // an error. Also called on rank 0 for each piece of learnable rows that is copied or restored, and every second while
  // rank 0 waits until the previous checkpoint is finished.
  virtual void OnProgress() {}
  // Called when a stop request takes effect: the trainer sends no further requests for training to servers. Requests of
  // prefetched mini-batches may still be in flight.
  virtual void OnStopped() {}
  // Called when the training loop ends early: after a stop request, once the last checkpoint (if any) is saved, or with
  // an error. Mini-batches in flight are then no longer needed. After a stop request, OnProgress follows once no
  // mini-batch is in flight.
  virtual void OnSaved() {}
  // Called on rank 0 for each checkpoint, on the thread that uploads it.
  virtual void OnCheckpoint(const CheckpointReport&) {}
  // Called for each entry of TrainOutcome::warnings as soon as it is known; some are known before the first step.
  virtual void OnWarning(const std::string&) {}
};

}  // namespace espalier::trainer
