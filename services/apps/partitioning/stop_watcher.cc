#include "services/apps/partitioning/stop_watcher.h"

#include <signal.h>
#include <unistd.h>

#include "services/base/exit_code.h"
#include "services/telemetry/log.h"

namespace espalier::partitioning {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

StopWatcher::StopWatcher(std::chrono::milliseconds grace) : grace_(grace) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a reader of our output that went away is an error of a write
  thread_ = std::jthread([this] { Watch(); });
}

StopWatcher::~StopWatcher() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void StopWatcher::Watch() {
  const sigset_t signals = StopSignals();
  const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  const auto finished = [this] {
    const std::lock_guard lock(mutex_);
    return finished_;
  };
  int signal_number = -1;
  while (signal_number < 0) {
    if (finished()) return;
    signal_number = sigtimedwait(&signals, nullptr, &pause);
  }
  requested_ = true;
  telemetry::Log(telemetry::Level::kInfo, "asked to stop", {{"signal", signal_number}});
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, grace_, [this] { return finished_; })) {
    _exit(static_cast<int>(ExitCode::kAskedToStop));
  }
}

}  // namespace espalier::partitioning
