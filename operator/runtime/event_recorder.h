// Writes Events (events.k8s.io/v1) for users: repetitions of an event about an object are one Event with a series.
#pragma once

#include <string>
#include <thread>

#include "operator/client/api_client.h"
#include "operator/runtime/event_book.h"
#include "operator/runtime/metrics.h"
#include "services/base/mutex.h"

namespace espalier::ctl::runtime {

// Records events and writes them in a thread of its own. Record never waits for a request and never fails: if 1000
// Events wait to be created or to be patched for the first time, a new event is dropped and counted as such, but a
// repetition is recorded. A write is tried at most 12 times, and only once if its error is permanent, such as Forbidden
// or Invalid. All tries of a write use the same name, so that a repeated request does not create a second Event.
// Thread-safe. `client`, `metrics` and `clock` must outlive the recorder. `client` should not be shared: events would
// use up the rate limit of reconciling.
class EventRecorder {
 public:
  EventRecorder(client::ApiClient& client, std::string controller /* "espalier.io/operator" */, std::string instance,
                telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~EventRecorder();  // drops queued events

  // Records an event about the object `about` of kind `resource`.
  void Record(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note);
  void Start();  // at most once
  // Stops the thread and writes the queued events. Starts no request after the deadline, but waits for the last one.
  void Stop(Deadline deadline);
  // Writes the events that are due. The thread calls it; public for tests.
  void WriteDue();

 private:
  bool WriteNext(EventBook::Due due);
  Status Send(const EventBook::Write& write);
  void Run();
  void Join();

  client::ApiClient& client_;
  Clock& clock_;
  EventMetrics metrics_;
  Mutex mutex_;
  EventBook book_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t num_records_ ABSL_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;  // last member, so that it is joined before the others are destroyed
};

}  // namespace espalier::ctl::runtime
