// Who waits for a version of learnable rows: questions that are parked, not threads. One thread ends those of all rows
// of a partition whose deadline passes.
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
  // What still waits is told Unavailable. Not on one of its callbacks.
  ~VersionWaits();
  VersionWaits(const VersionWaits&) = delete;
  VersionWaits& operator=(const VersionWaits&) = delete;

  // Rows at a version, which may be waited for until Close; the number names them. The first call starts the thread:
  // ResourceExhausted where the system has none left.
  Result<uint64_t> Open(uint64_t version) ABSL_LOCKS_EXCLUDED(mutex_);
  // Who waits for them, or asks later, is told Unavailable.
  void Close(uint64_t rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `ready` exactly once: with ok, on this thread where the version has been reached, later on that of Reach;
  // with DeadlineExceeded; with ResourceExhausted where too many wait already; with Unavailable (Close).
  void Await(uint64_t rows, uint64_t version, Deadline deadline, sampler::DoneStatus ready) ABSL_LOCKS_EXCLUDED(mutex_);
  // `version` of open rows has been reached. Never goes back.
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

  void EndLateOnes() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWaits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_waits_ > 0; }
  Deadline NearestDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves those that `ends` says to the end of `taken`.
  template <class Ends>
  void Take(Rows& rows, Ends ends, std::vector<Wait>* taken) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<uint64_t, Rows> rows_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_opened_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_waits_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t num_added_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // set once, under mutex_; last: ends before what it uses goes away
};

}  // namespace espalier::shard
