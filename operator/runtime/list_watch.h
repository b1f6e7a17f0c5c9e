// A reflector's requests, made: one Turn is one list or one watch, from opening to its end. The informer's thread calls
// Turn for ever; tests call it themselves.
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
  // The server ends a watch after a random time between these; silence of `idle_grace` beyond that is a dead
  // connection.
  std::chrono::seconds min_watch{45};
  std::chrono::seconds max_watch{75};
  std::chrono::seconds idle_grace{5};
  uint64_t seed = 0;
};

// Turn and delay are one thread's; the rest is thread-safe. What is given outlives it.
class ListWatch {
 public:
  ListWatch(client::ApiClient& client, InformerOptions options, ObjectSink& sink, telemetry::MetricRegistry& metrics,
            Clock& clock = Clock::Real());

  // What to wait before the next Turn.
  std::chrono::milliseconds delay() const { return reflector_.Next().delay; }
  // Lists or watches. An error has been counted and logged, and is answered by the next Turn; Cancelled after Cancel.
  Status Turn();
  // Makes Turn return soon, now and always.
  void Cancel();

  bool has_synced() const;
  // True once the first list is in the sink; false at the deadline.
  bool WaitForSync(Deadline deadline);
  std::string resource_version() const;
  std::string last_error() const;

 private:
  Status List(const std::string& resource_version);
  Status Watch(const std::string& resource_version);
  Status Follow(client::LineStream& lines, SteadyTime silent_until, WatchTally* tally);
  Status TakeEvent(const kube::WatchEvent& event);
  void Put(const kube::Json& object);
  void PassOver(const kube::ObjectKey& key, const Status& why);
  void Publish(const Status& status);
  // False after Cancel.
  bool Register(std::shared_ptr<client::LineStream> stream);
  bool is_cancelled() const { return cancel_.stop_requested(); }

  client::ApiClient& client_;
  const InformerOptions options_;
  ObjectSink& sink_;
  CacheMetrics metrics_;
  Clock& clock_;

  // Of the thread that calls Turn.
  Reflector reflector_;
  PhiloxStream lengths_;                   // of watches
  std::set<kube::ObjectKey> passed_over_;  // of which the log has told

  std::stop_source cancel_;
  mutable Mutex mutex_;
  std::shared_ptr<client::LineStream> stream_ ABSL_GUARDED_BY(mutex_);  // null: none is open
  bool has_synced_ ABSL_GUARDED_BY(mutex_) = false;
  std::string resource_version_ ABSL_GUARDED_BY(mutex_);
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::ctl::runtime
