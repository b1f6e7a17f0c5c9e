// The state machine of list and watch (after kube-rs's watcher and client-go's reflector). It does no I/O and has no
// clock: `Next` returns the next action, the driver (list_watch.h) performs it and reports its outcome with `On...`.
//
//   list (in pages) ─► watch ─► watch again from the newest resourceVersion ... ─► 410: list again
//
//   outcome                                  next action
//   watch ended                              watch from the newest version; with a delay after an error, or if it ended
//                                            without an event within kVeryShortWatch
//   no connection, 429, 5xx, 401, 403        the same watch, with a delay: a new list would add load
//   410 as status or as ERROR event          list immediately: an expired version is normal; with a delay if the
//                                            version of the new list expires too, before a watch has lasted for
//                                            kHealthyWatch
//   504 ResourceVersionTooLarge              list, with a delay: this server is behind that of the previous request
//   a line that is too long                  list, with a delay: the same watch would receive the line again
//   400, 404, unknown errors                 list, with a delay
//   ERROR event with 429, 5xx, 401 or 403,   the same watch, with a delay; list after kMaxErrorEvents such events or
//   or only lines that cannot be parsed      kMaxGarbledWatches such watches in a row
//
// Lists use resourceVersion "", the newest state: they come in pages and are never older than an object that was seen
// before. client-go starts with "0", which the server answers from its cache, at less cost. But with "0" the server
// ignores the limit and returns all objects in one body, which is too large in a large cluster. An operator lists only
// a few times per start, so the cost does not matter.
//
// Guarantees: The driver reports an object that is missing from a new list as deleted. A watch that started at "" or
// "0" first sends ADDED events in no order; resourceVersions are never taken from these. Only a list may lower the
// version. Delays double from 0.8 s to 30 s, with jitter, and start over after a watch that has lasted for
// kHealthyWatch.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "operator/kube/watch_event.h"
#include "services/base/philox.h"
#include "services/base/status.h"

namespace espalier::ctl::runtime {

inline constexpr std::chrono::seconds kVeryShortWatch{1};
inline constexpr std::chrono::seconds kHealthyWatch{30};
inline constexpr int kMaxErrorEvents = 5;  // without any other event between them
inline constexpr int kMaxGarbledWatches = 5;

enum class ReflectorStep { kList, kWatch };

// Numbers of lines of a watch.
struct WatchTally {
  int64_t num_events = 0;   // lines that could be parsed, including ERROR events
  int64_t num_garbled = 0;  // lines that could not be parsed
};

struct ReflectorAction {
  ReflectorStep step = ReflectorStep::kList;
  std::string resource_version;        // to watch from
  std::chrono::milliseconds delay{0};  // wait before the step
  friend bool operator==(const ReflectorAction&, const ReflectorAction&) = default;
};

// Thread-compatible.
class Reflector {
 public:
  explicit Reflector(uint64_t seed) : jitter_(seed, 0) {}

  ReflectorAction Next() const;
  void OnListed(const std::string& resource_version);
  void OnListFailed();
  void OnWatchFailed(const Status& status);  // the watch could not be opened
  // Reports an event. Returns false for an ERROR event: the driver must close the watch.
  bool OnEvent(const kube::WatchEvent& event);
  // Reports the end of a watch, also after OnEvent has returned false.
  void OnWatchEnded(const Status& how, std::chrono::nanoseconds lasted, WatchTally tally);

  bool has_listed() const { return has_listed_; }                            // at least once
  const std::string& resource_version() const { return resource_version_; }  // newest seen

 private:
  enum class State { kMustList, kCanWatch };

  void Fail();
  void Expire();

  State state_ = State::kMustList;
  bool has_listed_ = false;
  std::string resource_version_;
  bool is_in_order_ = true;  // events of this watch are ordered by version
  bool ended_by_error_event_ = false;
  bool expired_ = false;         // the ERROR event was a 410
  bool has_relisted_ = false;    // after an expired version, and no watch has been healthy since
  int num_error_events_ = 0;     // in a row
  int num_garbled_watches_ = 0;  // in a row
  int num_failures_ = 0;         // since the last healthy watch
  std::chrono::milliseconds delay_{0};
  PhiloxStream jitter_;
};

}  // namespace espalier::ctl::runtime
