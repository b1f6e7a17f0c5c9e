// A thread waits for SIGTERM or SIGINT, then watches counters and flags that the training thread updates. WatchForStall
// restarts both time limits (longest_stall_ for a step, longest_chunk_ for a chunk of longer work) whenever there is
// progress, and while the training thread computes or waits for other ranks. When the limit that applies has passed, it
// cancels the calls to servers. After OnSaved, WatchBatchAhead cancels them if the prefetched mini-batch does not
// arrive within the limit of a step.
#include "services/trainer/main/stop_watcher.h"

#include <unistd.h>

#include "services/base/clock.h"
#include "services/base/exit_code.h"
#include "services/telemetry/log.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::trainer {
namespace {

using telemetry::Level;
using telemetry::Log;

constexpr auto kTick = std::chrono::milliseconds(100);
// Number of steps after the stop request until training stops: the flag may be set too late for the all-reduce in
// progress, and the next all-reduce contains it.
constexpr uint64_t kStepsUntilStopped = 2;

[[noreturn]] void EndBeforeTraining() {
  telemetry::WriteTermination(Cancelled("asked to stop before the training began"), ExitCode::kAskedToStop);
  _exit(static_cast<int>(ExitCode::kAskedToStop));
}

}  // namespace

void StopWatcher::Watch(const std::stop_token& ended) {
  const telemetry::StopSignal& signal = telemetry::StopSignal::Install();
  signal.UnblockInThread();
  while (!ended.stop_requested()) {
    if (!signal.WaitUntil(Deadline::After(kTick))) continue;
    Log(Level::kInfo, "asked to stop", {{"signal", signal.signal_number()}});
    const uint64_t first = steps_;
    requested_ = true;
    if (!training_) EndBeforeTraining();
    WatchForStall(ended, first);
    return WatchBatchAhead(ended);
  }
}

void StopWatcher::WatchForStall(const std::stop_token& ended, uint64_t first) {
  uint64_t seen = progress_;
  Deadline step_stall = Deadline::After(longest_stall_), chunk_stall = Deadline::After(longest_chunk_);
  while (!ended.stop_requested() && stepping_ && steps_ < first + kStepsUntilStopped) {
    const bool is_in_chunks = is_in_chunks_, is_computing = is_computing_;
    const uint64_t now = progress_;
    if (is_communicating_ || is_computing || seen != now) {
      step_stall = Deadline::After(longest_stall_);
      chunk_stall = Deadline::After(longest_chunk_);
    } else if ((is_in_chunks ? chunk_stall : step_stall).HasPassed()) {
      Log(Level::kWarning, "a server does not respond: canceling all calls to servers",
          {{"steps_since_asked", steps_ - first}});
      return CancelServerCalls();
    }
    seen = now;
    Clock::Real().SleepFor(kTick);
  }
}

void StopWatcher::WatchBatchAhead(const std::stop_token& ended) {
  while (!ended.stop_requested() && !saved_) Clock::Real().SleepFor(kTick);
  const Deadline stall = Deadline::After(longest_stall_);
  while (!ended.stop_requested() && !is_communicating_ && progress_ == progress_when_saved_) {
    if (stall.HasPassed()) {
      Log(Level::kWarning, "a server does not respond: ending without the next mini-batch, which is not needed");
      return CancelServerCalls();
    }
    Clock::Real().SleepFor(kTick);
  }
}

}  // namespace espalier::trainer
