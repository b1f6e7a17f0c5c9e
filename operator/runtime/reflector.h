// List, then watch, for ever: the state machine alone (after kube-rs's watcher and client-go's reflector). It does no
// I/O and has no clock: `Next` says what to do, `On...` what came of it, and the driver (list_watch.h) does it.
//
//   list (in pages) ─► watch ─► watch again from the newest resourceVersion ... ─► 410: list again
//
//   what happened                            what is next
//   watch ended, in whatever way             watch from the newest version; after an error, or where it ended at once
//                                            (kVeryShortWatch), with a delay
//   opening refused, 429, 5xx, 401, 403      the same watch, with a delay: a new list would only add to the trouble
//   410 as status or as ERROR event          list, at once: the version is too old, which is nobody's trouble; with a
//                                            delay where that happens again before a watch has lasted
//   504 ResourceVersionTooLarge              list: this server is behind the one that was asked before
//   a line that is too long                  list: the watch would meet it again
//   400, 404, what is not understood         list
//   nothing but ERROR events, or nothing     the same watch, with a delay; list after kMaxErrorEvents or
//   but lines that cannot be read            kMaxGarbledWatches of them
//
// Lists are of resourceVersion "", the newest, and so come in pages and never from before what was seen already. "0",
// as client-go begins, is cheaper for the store, for it is read from the server's cache; but the server then ignores
// the limit, and hands out all objects as one body, which a large cluster makes too large to take. A few lists at each
// start of one operator are no load.
//
// Guarantees: an object that is missing from a new list is reported deleted (by the driver); resourceVersions are never
// taken from ADDED events of a watch that began at "" or "0", which come in no order; bookmarks only advance the
// version; a version never goes back but by a list; delays double from 0.8 s to 30 s, jittered, and start over when a
// watch has lasted for kHealthyWatch.
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

// What a watch brought.
struct WatchTally {
  int64_t num_events = 0;   // that could be read, an ERROR among them
  int64_t num_garbled = 0;  // lines that could not
};

struct ReflectorAction {
  ReflectorStep step = ReflectorStep::kList;
  std::string resource_version;        // to watch from
  std::chrono::milliseconds delay{0};  // before it
  friend bool operator==(const ReflectorAction&, const ReflectorAction&) = default;
};

// Owned by one thread.
class Reflector {
 public:
  explicit Reflector(uint64_t seed) : jitter_(seed, 0) {}

  ReflectorAction Next() const;
  void OnListed(const std::string& resource_version);
  void OnListFailed();
  void OnWatchFailed(const Status& status);  // to open
  // An event was applied; false: it says that this watch is of no use any more (ERROR), and the watch must be closed.
  bool OnEvent(const kube::WatchEvent& event);
  // After OnEvent's false, too.
  void OnWatchEnded(const Status& how, std::chrono::nanoseconds lasted, WatchTally tally);

  bool has_listed() const { return has_listed_; }                            // once, ever
  const std::string& resource_version() const { return resource_version_; }  // newest seen

 private:
  enum class State { kMustList, kCanWatch };

  void Fail();
  void Expire();

  State state_ = State::kMustList;
  bool has_listed_ = false;
  std::string resource_version_;
  bool is_in_order_ = true;  // events of this watch come in order of their versions
  bool ended_by_error_event_ = false;
  bool expired_ = false;          // said the ERROR event
  bool has_listed_anew_ = false;  // for a version that was too old, and no watch has lasted since
  int num_error_events_ = 0;      // in a row
  int num_garbled_watches_ = 0;   // in a row
  int num_failures_ = 0;          // since the last healthy watch
  std::chrono::milliseconds delay_{0};
  PhiloxStream jitter_;
};

}  // namespace espalier::ctl::runtime
