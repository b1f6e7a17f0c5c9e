// One kind of objects, kept in a Store by a thread that lists and watches (reflector.h), and whoever wants to know
// told.
#pragma once

#include <string>
#include <thread>

#include "operator/runtime/list_watch.h"

namespace espalier::ctl::runtime {

// Thread-safe. `client`, `sink`, `metrics` and `clock` outlive it.
class Informer {
 public:
  Informer(client::ApiClient& client, InformerOptions options, ObjectSink& sink, telemetry::MetricRegistry& metrics,
           Clock& clock = Clock::Real());
  ~Informer();  // stops

  void Start();  // once
  // Ends what is under way, a request too, and does not wait for it: with several, all are told before one is stopped.
  void Cancel();
  void Stop();  // cancels, and waits
  bool has_synced() const { return list_watch_.has_synced(); }
  // True once the first list is in the sink; false at the deadline, or after Stop.
  bool WaitForSync(Deadline deadline) { return list_watch_.WaitForSync(deadline); }
  // The newest resourceVersion that the sink has seen: for stale_guard.h.
  std::string resource_version() const { return list_watch_.resource_version(); }
  // Of the list or watch under way; empty: fine.
  std::string last_error() const { return list_watch_.last_error(); }

 private:
  void Run();
  bool WaitToStop(std::chrono::nanoseconds longest);

  ListWatch list_watch_;
  Mutex mutex_;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace espalier::ctl::runtime
