// Events for people (events.k8s.io/v1): the same about the same object is one Event with a growing series.
#pragma once

#include <string>
#include <thread>

#include "operator/client/api_client.h"
#include "operator/runtime/event_book.h"
#include "operator/runtime/metrics.h"
#include "services/base/mutex.h"

namespace espalier::ctl::runtime {

// Thread-safe. Never blocks and never fails: events beyond a queue of 1000 are dropped and counted, each is tried at
// most 12 times; what the server forbids, or takes for wrong, is given up at once. Names are deterministic, so that a
// repeated request does not double one. `client`, which is best its own, lest events take the tokens of work, `metrics`
// and `clock` outlive it.
class EventRecorder {
 public:
  EventRecorder(client::ApiClient& client, std::string controller /* "espalier.io/operator" */, std::string instance,
                telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~EventRecorder();  // drops what is queued

  void Record(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note);
  void Start();  // once
  // Writes what is queued until the deadline, or the end of the call that is under way then, and ends.
  void Stop(Deadline deadline);
  // Writes what is due. What the thread does; tests call it.
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
  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace espalier::ctl::runtime
