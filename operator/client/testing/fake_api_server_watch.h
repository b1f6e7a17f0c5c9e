// The history of one kind of objects, and its watches. A watch keeps a position in the history and looks for the next
// matching change when its next line is requested, so that nothing is queued for idle watches.
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
  StoredPtr object;  // for a deletion: the last state, with the version of the deletion
  StoredPtr before;  // null: the object is new
};

struct WatchSettings {
  std::string name_space;  // "": all
  Selectors selectors;
  bool wants_bookmarks = false;
  std::optional<std::chrono::seconds> timeout;
  std::chrono::seconds bookmark_interval{60};
  Clock* clock = nullptr;
};

// Thread-safe. Changes must be appended in the order of their versions.
class History {
 public:
  // `newest` is the version up to which all histories are complete; it must outlive this.
  History(const KindTraits& kind, size_t max_changes, const std::atomic<uint64_t>& newest)
      : kind_(kind), max_changes_(max_changes), newest_(newest) {}

  void Append(Change change);
  // Makes versions before `version` too old for new watches.
  void Forget(uint64_t version);
  void Cut(bool broken);
  void Mute(bool mute);
  void SendBookmarks();
  int64_t num_open() const;

  // Returns a stream of `initial` as ADDED and then of all changes after `version`; null if that is too old.
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
  uint64_t num_dropped_ ABSL_GUARDED_BY(mutex_) = 0;  // dropped changes: changes_[0] has this number
  uint64_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;       // watches may start at this version or later
  bool is_muted_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t num_cuts_ ABSL_GUARDED_BY(mutex_) = 0;
  bool last_cut_broke_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t num_bookmark_rounds_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_open_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Returns a stream with one ERROR event: 410, Expired.
std::unique_ptr<LineStream> ExpiredStream(uint64_t requested, uint64_t oldest);

}  // namespace espalier::ctl::client::fake
