// A training observer made of functions, for tests that need a few events.
#pragma once

#include <functional>
#include <optional>

#include "services/trainer/training_observer.h"

namespace espalier::trainer {

// Calls the functions that are set.
struct Observing final : TrainingObserver {
  std::function<void(const RunPosition&)> on_resumed, on_step;
  std::function<void(const EpochReport&)> on_epoch;
  std::function<void(RunPhase, std::optional<double>)> on_phase;
  std::function<void()> on_compute_begin, on_compute_end, on_progress, on_stopped, on_saved;

  void OnResumed(const RunPosition& position) override { Call(on_resumed, position); }
  void OnStep(const RunPosition& position) override { Call(on_step, position); }
  void OnEpoch(const EpochReport& report) override { Call(on_epoch, report); }
  void OnPhase(RunPhase phase, std::optional<double> fraction) override { Call(on_phase, phase, fraction); }
  void OnComputeBegin() override { Call(on_compute_begin); }
  void OnComputeEnd() override { Call(on_compute_end); }
  void OnProgress() override { Call(on_progress); }
  void OnStopped() override { Call(on_stopped); }
  void OnSaved() override { Call(on_saved); }

 private:
  template <class... Arguments>
  static void Call(const std::function<void(Arguments...)>& function, const auto&... arguments) {
    if (function) function(arguments...);
  }
};

}  // namespace espalier::trainer
