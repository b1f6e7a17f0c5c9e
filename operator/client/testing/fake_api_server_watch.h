// The history of one kind of objects, and the watches that read it: each keeps its place and takes what matches when it
// is asked for the next line, so that nothing is copied for those that sleep.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "operator/client/testing/fake_api_server_object.h"
#include "operator/client/transport.h"
#include "operator/kube/watch_event.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client::fake {

struct Change {
  kube::WatchEventType type = kube::WatchEventType::kAdded;
  StoredPtr object;  // of a deletion: the last one, with the deletion's version
  StoredPtr before;  // null: it is new
};

struct WatchSettings {
  std::string name_space;  // "": all
  Selectors selectors;
  bool wants_bookmarks = false;
  std::optional<std::chrono::seconds> timeout;
  std::chrono::seconds bookmark_interval{60};
  Clock* clock = nullptr;
};

// Thread-safe. Changes come in the order of their versions.
class History {
 public:
  // `newest` is the version up to which all histories are complete; outlives this.
  History(const KindTraits& kind, size_t max_changes, const std::atomic<uint64_t>& newest)
      : kind_(kind), max_changes_(max_changes), newest_(newest) {}

  void Append(Change change);
  // Nobody can watch from before `version` any more.
  void Forget(uint64_t version);
  void Cut(bool broken);
  void Mute(bool mute);
  void SendBookmarks();
  int64_t num_open() const;

  // A stream of `initial` as ADDED, then of what comes after `version`; null where that is forgotten already.
  static std::unique_ptr<LineStream> Open(std::shared_ptr<History> history, WatchSettings settings, uint64_t version,
                                          std::vector<StoredPtr> initial);

 private:
  class Stream;
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const KindTraits& kind_;
  const size_t max_changes_;
  const std::atomic<uint64_t>& newest_;
  mutable Mutex mutex_;
  std::deque<Change> changes_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_dropped_ ABSL_GUARDED_BY(mutex_) = 0;  // of the front: changes_[0] has this number
  uint64_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;       // watches may begin at this version or later
  bool is_muted_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t num_cuts_ ABSL_GUARDED_BY(mutex_) = 0;
  bool last_cut_broke_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t num_bookmark_rounds_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_open_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The stream of one ERROR event: 410, Expired.
std::unique_ptr<LineStream> ExpiredStream(uint64_t asked, uint64_t oldest);

}  // namespace espalier::ctl::client::fake
