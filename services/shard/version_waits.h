// Requests that wait for a version of learnable rows, stored as callbacks instead of blocked threads. One thread per
// partition ends the requests whose deadline has passed.
#pragma once

#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/sampler/access/row_sink.h"

namespace espalier::shard {

// Thread-safe.
class VersionWaits {
 public:
  static constexpr size_t kMaxWaits = 65'536;  // of all rows together

  VersionWaits() = default;
  // Ends the remaining requests with Unavailable. Must not run in one of its callbacks.
  ~VersionWaits();
  VersionWaits(const VersionWaits&) = delete;
  VersionWaits& operator=(const VersionWaits&) = delete;

  // Registers learnable rows that have reached `version`. Returns the number that identifies them in the other
  // functions (`rows`) until Close. The first call starts the thread: ResourceExhausted if that fails.
  Result<uint64_t> Open(uint64_t version) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends current and later requests for these rows with Unavailable.
  void Close(uint64_t rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `ready` exactly once. OK: the rows have reached the version. If they had reached it before this call, `ready`
  // is called on the caller's thread, otherwise on the thread that calls Reach. Errors: DeadlineExceeded,
  // ResourceExhausted (too many requests wait), Unavailable (Close).
  void Await(uint64_t rows, uint64_t version, Deadline deadline, sampler::DoneStatus ready) ABSL_LOCKS_EXCLUDED(mutex_);
  // Records that open rows have reached `version`. Versions never decrease.
  void Reach(uint64_t rows, uint64_t version) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Wait {
    uint64_t version;
    Deadline deadline;
    sampler::DoneStatus ready;
  };
  struct Rows {
    uint64_t reached = 0;
    std::vector<Wait> waits;
  };

  void FailExpiredWaits() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWaits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_waits_ > 0; }
  Deadline NearestDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the requests for which ends(wait) is true from `rows`, and appends them to `ended`.
  template <class Ends>
  void MoveEnded(Rows& rows, Ends ends, std::vector<Wait>* ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<uint64_t, Rows> rows_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_opened_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_waits_ ABSL_GUARDED_BY(mutex_) = 0;
  // Incremented for each new request, to wake the thread, because the nearest deadline may have changed.
  uint64_t num_added_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // set once, under mutex_; joined by the destructor
};

}  // namespace espalier::shard
