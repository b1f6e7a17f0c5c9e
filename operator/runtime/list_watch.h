// Performs the actions of a Reflector. One Turn is one list, or one watch from opening to its end. The informer's
// thread calls Turn in a loop; tests call it directly.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "operator/client/api_client.h"
#include "operator/runtime/metrics.h"
#include "operator/runtime/object_sink.h"
#include "operator/runtime/reflector.h"
#include "services/base/mutex.h"

namespace espalier::ctl::runtime {

struct InformerOptions {
  const kube::Resource* resource = nullptr;
  std::string name_space;  // "": all
  std::string label_selector;
  // The server ends a watch after a time that the client draws at random between min_watch and max_watch. If the watch
  // is still open `idle_grace` after that time or after the last event, whichever is later, the connection counts as
  // dead.
  std::chrono::seconds min_watch{45};
  std::chrono::seconds max_watch{75};
  std::chrono::seconds idle_grace{5};
  uint64_t seed = 0;
};

// Turn and delay must be called by one thread; the other functions are thread-safe. The constructor's references must
// outlive the ListWatch.
class ListWatch {
 public:
  ListWatch(client::ApiClient& client, InformerOptions options, ObjectSink& sink, telemetry::MetricRegistry& metrics,
            Clock& clock = Clock::Real());

  // Returns how long to wait before the next Turn.
  std::chrono::milliseconds delay() const { return reflector_.Next().delay; }
  // Lists or watches. Errors are counted and logged; the next Turn reacts to them. Returns Cancelled after Cancel.
  Status Turn();
  // Makes the current Turn end soon and later ones return at once.
  void Cancel();

  bool has_synced() const;
  // Blocks until the first list is in the sink. Returns false at the deadline or after Cancel.
  bool WaitForSync(Deadline deadline);
  // Like WaitForSync, but also returns false as soon as a list has failed; last_error() gives the reason.
  bool WaitForFirstList(Deadline deadline);
  std::string resource_version() const;
  std::string last_error() const;
  // Returns the code of the last list or watch; kOk before the first one has ended.
  StatusCode last_code() const;

 private:
  Status List(const std::string& resource_version);
  Status Watch(const std::string& resource_version);
  Status Follow(client::LineStream& lines, SteadyTime idle_deadline, WatchTally* tally);
  Status TakeEvent(const kube::WatchEvent& event);
  void Put(const kube::Json& object);
  void Skip(const kube::ObjectKey& key, const Status& reason);
  void Publish(const Status& status);
  // Blocks until has_synced_ is set and returns true. Returns false at the deadline, after Cancel and, if `or_error`,
  // after an error.
  bool Wait(Deadline deadline, bool or_error);
  // Stores the stream for Cancel. Returns false after Cancel.
  bool Register(std::shared_ptr<client::LineStream> stream);
  bool is_cancelled() const { return cancel_.stop_requested(); }

  client::ApiClient& client_;
  const InformerOptions options_;
  ObjectSink& sink_;
  CacheMetrics metrics_;
  Clock& clock_;

  // Used only by the thread that calls Turn.
  Reflector reflector_;
  PhiloxStream lengths_;              // random numbers for the lengths of watches
  std::set<kube::ObjectKey> logged_;  // objects that cannot be decoded, already logged

  std::stop_source cancel_;
  mutable Mutex mutex_;
  std::shared_ptr<client::LineStream> stream_ ABSL_GUARDED_BY(mutex_);  // null: none is open
  bool has_synced_ ABSL_GUARDED_BY(mutex_) = false;
  std::string resource_version_ ABSL_GUARDED_BY(mutex_);
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  StatusCode last_code_ ABSL_GUARDED_BY(mutex_) = StatusCode::kOk;
};

}  // namespace espalier::ctl::runtime
