#include "operator/runtime/informer.h"

#include <utility>

namespace espalier::ctl::runtime {

Informer::Informer(client::ApiClient& client, InformerOptions options, ObjectSink& sink,
                   telemetry::MetricRegistry& metrics, Clock& clock)
    : list_watch_(client, std::move(options), sink, metrics, clock) {}

Informer::~Informer() { Stop(); }

void Informer::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void Informer::Run() {
  while (!WaitToStop(list_watch_.delay())) {
    // An error is visible in last_error, in the metrics and in the next delay.
    (void)list_watch_.Turn();
  }
}

bool Informer::WaitToStop(std::chrono::nanoseconds longest) {
  MutexLock lock(&mutex_);
  return mutex_.AwaitBefore(Deadline::After(longest),
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopped_; });
}

void Informer::Cancel() {
  {
    MutexLock lock(&mutex_);
    is_stopped_ = true;
  }
  list_watch_.Cancel();
}

void Informer::Stop() {
  Cancel();
  if (thread_.joinable()) thread_.join();
}

}  // namespace espalier::ctl::runtime
