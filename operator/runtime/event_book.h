// Keeps the Events of the process as series and decides which requests have to be sent for them. No I/O, no clock. It
// differs from client-go's tools/events in one point: events with different notes are separate series. A series keeps
// its first note forever: if events with different notes shared a series, it would still show "Job cora-trainer-1" when
// cora-trainer-2 runs.
//
//   first occurrence      create the Event
//   second occurrence     patch: series {count: 2, lastObservedTime}
//   further occurrences   counted; patched every 30 minutes
//   none for 6 minutes    the last count is patched and the series removed: the next occurrence creates a new Event
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "operator/kube/object_meta.h"
#include "services/base/clock.h"
#include "services/base/philox.h"
#include "services/base/status.h"

namespace espalier::ctl::runtime {

enum class EventType { kNormal, kWarning };

struct EventNote {
  EventType type = EventType::kNormal;
  std::string reason;  // constant, CamelCase: "TrainerRestarted"
  std::string action;  // constant: "Restart"
  std::string note;    // for users; cut in the middle to 1024 bytes
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

// Thread-compatible.
class EventBook {
 public:
  static constexpr size_t kMaxQueued = 1000;  // series that wait to be created or patched for the first time
  static constexpr size_t kMaxSeries = 4096;  // when full, removes the least recently seen series with no pending write
  static constexpr int kMaxTries = 12;        // failed writes in succession, after which a series is removed
  static constexpr std::chrono::minutes kRefresh{30};  // between patches of a series that goes on
  static constexpr std::chrono::minutes kFinish{6};    // without an occurrence, until a series ends

  // `controller` is a qualified name ("espalier.io/operator"), `instance` the name of the process.
  EventBook(std::string controller, std::string instance);

  // Records an occurrence of an event about the object `about` of kind `resource`, at the wall-clock time `at` and the
  // monotonic time `now`. Returns false if there is no room for a new series: the event is dropped.
  bool Record(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note, kube::WallTime at,
              SteadyTime now);

  struct Write {
    enum class Kind { kCreate, kPatch } kind = Kind::kCreate;
    uint64_t series = 0;
    kube::ObjectKey key;  // of the Event
    kube::Json body;      // the Event, or a merge patch
    int64_t count = 0;    // occurrences that the request reports
  };
  enum class Due { kNow, kAny };
  // Returns the next request, or nullopt. With kAny, requests that are not due yet are returned too. The caller must
  // report the result with OnWritten or OnFailed.
  std::optional<Write> NextWrite(Due due, SteadyTime now);
  void OnWritten(const Write& write, SteadyTime now);
  // Schedules a retry and returns true. If the error is permanent or the write has failed kMaxTries times in
  // succession, removes the series and returns false.
  bool OnFailed(const Write& write, const Status& status, SteadyTime now);

  // Returns when the next request is due, or nullopt if none is queued.
  std::optional<SteadyTime> NextTime() const;
  size_t num_series() const { return series_.size(); }

 private:
  struct Identity {
    std::string uid;
    std::string resource;  // "jobs.batch"
    kube::ObjectKey about;
    EventType type;
    std::string reason;
    std::string action;
    uint64_t note_hash = 0;
    friend auto operator<=>(const Identity&, const Identity&) = default;
  };
  struct Series {
    Identity identity;
    kube::ObjectKey key;
    kube::Json event;  // without its field `series`
    int64_t count = 1;
    kube::WallTime last_at{};
    SteadyTime last_seen{};
    int64_t written_count = 0;  // 0: not created yet
    SteadyTime written_at{};
    int tries = 0;  // since the last success
    bool is_being_written = false;
    std::optional<SteadyTime> due;  // in queue_
    bool is_urgent = false;         // counted in num_urgent_
  };

  kube::Json MakeEvent(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note,
                       kube::WallTime at, const kube::ObjectKey& key) const;
  Series* Find(uint64_t id);
  bool MakeRoom();
  void Schedule(uint64_t id, Series* series, std::optional<SteadyTime> due);
  std::optional<SteadyTime> DueTime(const Series& series, SteadyTime now) const;
  void Forget(uint64_t id);
  void ForgetIdle(SteadyTime now);

  const std::string controller_;
  const std::string instance_;
  PhiloxStream jitter_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Series> series_;
  std::map<Identity, uint64_t> ids_;
  std::set<std::pair<SteadyTime, uint64_t>> queue_;    // by due time
  size_t num_urgent_ = 0;                              // entries of queue_ that create, or patch for the first time
  std::set<std::pair<SteadyTime, uint64_t>> by_time_;  // by last_seen
};

}  // namespace espalier::ctl::runtime
