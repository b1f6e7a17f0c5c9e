#include "services/partitioner/stop_watcher.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "services/base/exit_code.h"
#include "services/telemetry/log.h"

namespace espalier::partitioner {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

StopWatcher::StopWatcher(std::chrono::milliseconds grace, std::function<void()> before_exit)
    : grace_(grace), before_exit_(std::move(before_exit)) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a closed output pipe becomes an error of write()
  thread_ = std::jthread([this] { Watch(); });
}

StopWatcher::~StopWatcher() {
  MutexLock lock(&mutex_);
  finished_ = true;
}

void StopWatcher::Watch() {
  const sigset_t signals = StopSignals();
  const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
  const auto finished = [this] {
    MutexLock lock(&mutex_);
    return finished_;
  };
  int signal_number = -1;
  while (signal_number < 0) {
    if (finished()) return;
    signal_number = sigtimedwait(&signals, nullptr, &pause);
  }
  MutexLock lock(&mutex_);
  requested_ = true;
  if (before_exit_ == nullptr) telemetry::Log(telemetry::Level::kInfo, "asked to stop", {{"signal", signal_number}});
  const auto is_over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return finished_; };
  // Without a grace period the lock is held until _exit, so that the destructor blocks and the exit code is always 75.
  if (grace_.count() > 0 ? mutex_.AwaitBefore(Deadline::After(grace_), is_over) : is_over()) return;
  if (before_exit_ != nullptr) before_exit_();
  _exit(static_cast<int>(ExitCode::kAskedToStop));
}

}  // namespace espalier::partitioner
