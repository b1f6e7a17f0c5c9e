// A thread that lists and watches one kind of objects (reflector.h) and delivers them to a sink, usually a Store.
#pragma once

#include <string>
#include <thread>

#include "operator/runtime/list_watch.h"

namespace espalier::ctl::runtime {

// Thread-safe. `client`, `sink`, `metrics` and `clock` must outlive it.
class Informer {
 public:
  Informer(client::ApiClient& client, InformerOptions options, ObjectSink& sink, telemetry::MetricRegistry& metrics,
           Clock& clock = Clock::Real());
  ~Informer();  // stops

  void Start();  // at most once
  // Cancels the current request and makes the thread end, without waiting for it. To stop several informers, cancel all
  // of them before the first Stop.
  void Cancel();
  void Stop();  // calls Cancel and waits for the thread
  bool has_synced() const { return list_watch_.has_synced(); }
  // Blocks until the first list is in the sink. Returns false at the deadline or after Cancel.
  bool WaitForSync(Deadline deadline) { return list_watch_.WaitForSync(deadline); }
  // Like WaitForSync, but also returns false as soon as a list has failed; last_error() gives the reason.
  bool WaitForFirstList(Deadline deadline) { return list_watch_.WaitForFirstList(deadline); }
  // Returns the newest resourceVersion that the sink has seen; stale_guard.h compares it with the versions that writes
  // returned.
  std::string resource_version() const { return list_watch_.resource_version(); }
  // Returns the error of the last list or watch, or "" if it succeeded or is open.
  std::string last_error() const { return list_watch_.last_error(); }
  // Returns the code of the last list or watch; kOk before the first one has ended.
  StatusCode last_code() const { return list_watch_.last_code(); }

 private:
  void Run();
  bool WaitToStop(std::chrono::nanoseconds longest);

  ListWatch list_watch_;
  Mutex mutex_;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last member, so that it is joined before the others are destroyed
};

}  // namespace espalier::ctl::runtime
