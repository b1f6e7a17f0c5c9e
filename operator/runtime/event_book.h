// Which Events there are and what of them is still to be written: no I/O, no clock. It differs from client-go's
// tools/events in one point: events with different notes are separate events. A series would show its first note for
// ever ("Job cora-trainer-1" while cora-trainer-2 runs).
//
//   first time            create the Event
//   second time           patch: series {count: 2, lastObservedTime}
//   more                  counted; patched every 30 minutes
//   none for 6 minutes    the last count is patched and the series forgotten: the next time is a first time
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
  std::string note;    // for people; of more than 1024 bytes the middle is left out
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

// Thread-compatible.
class EventBook {
 public:
  static constexpr size_t kMaxQueued = 1000;  // to be created, or patched for the first time
  static constexpr size_t kMaxSeries = 4096;  // in all: beyond, the one that has been quiet for longest is forgotten
  static constexpr int kMaxTries = 12;        // to write one
  static constexpr std::chrono::minutes kRefresh{30};
  static constexpr std::chrono::minutes kFinish{6};

  // `controller` is a qualified name ("espalier.io/operator"), `instance` the process's.
  EventBook(std::string controller, std::string instance);

  // False where there is no room: the event is dropped.
  bool Record(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note, kube::WallTime at,
              SteadyTime now);

  struct Write {
    enum class Kind { kCreate, kPatch } kind = Kind::kCreate;
    uint64_t series = 0;
    kube::ObjectKey key;  // of the Event
    kube::Json body;      // the Event, or a merge patch
    int64_t count = 0;
  };
  enum class Due { kNow, kEver };
  // The next one to write, to be followed by OnWritten or OnFailed; nullopt: none. kEver: before its time, too.
  std::optional<Write> NextWrite(Due due, SteadyTime now);
  void OnWritten(const Write& write, SteadyTime now);
  // False where it was given up.
  bool OnFailed(const Write& write, const Status& status, SteadyTime now);

  // When NextWrite has something; nullopt: nothing is queued.
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
    kube::Json event;  // without its series
    int64_t count = 1;
    kube::WallTime last_at{};
    SteadyTime last_seen{};
    int64_t written_count = 0;  // 0: is to be created
    SteadyTime written_at{};
    int tries = 0;  // since the last success
    bool is_being_written = false;
    std::optional<SteadyTime> due;  // in queue_
    bool is_pressing = false;       // in num_pressing_
  };

  kube::Json MakeEvent(const kube::Resource& resource, const kube::ObjectMeta& about, const EventNote& note,
                       kube::WallTime at, const kube::ObjectKey& key) const;
  Series* Find(uint64_t id);
  bool MakeRoom();
  void Schedule(uint64_t id, Series* series, std::optional<SteadyTime> due);
  std::optional<SteadyTime> DueTime(const Series& series, SteadyTime now) const;
  void Forget(uint64_t id);
  void ForgetQuiet(SteadyTime now);

  const std::string controller_;
  const std::string instance_;
  PhiloxStream jitter_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Series> series_;
  std::map<Identity, uint64_t> ids_;
  std::set<std::pair<SteadyTime, uint64_t>> queue_;    // by when it is due
  size_t num_pressing_ = 0;                            // of queue_, without refreshes of what is written
  std::set<std::pair<SteadyTime, uint64_t>> by_time_;  // by when it was last seen
};

}  // namespace espalier::ctl::runtime
