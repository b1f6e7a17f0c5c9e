// Who waits for a version of learnable rows: questions that are parked, not threads. One thread of its own ends those
// whose deadline passes.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/sampler/row_sink.h"

namespace espalier::shard {

// Thread-safe.
class VersionWaits {
 public:
  static constexpr size_t kMaxWaits = 65'536;

  VersionWaits();
  // What still waits is told Unavailable. Not on one of its callbacks.
  ~VersionWaits();
  VersionWaits(const VersionWaits&) = delete;
  VersionWaits& operator=(const VersionWaits&) = delete;

  // Calls `ready` exactly once: with ok, on this thread where the version has been reached, later on that of Reach;
  // with DeadlineExceeded; with ResourceExhausted where too many wait already.
  void Await(uint64_t version, Deadline deadline, sampler::DoneStatus ready) ABSL_LOCKS_EXCLUDED(mutex_);
  // `version` has been reached. Never goes back.
  void Reach(uint64_t version) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Wait {
    uint64_t version;
    Deadline deadline;
    sampler::DoneStatus ready;
  };

  void EndLateOnes() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes out those that `ends` says.
  template <class Ends>
  std::vector<Wait> Take(Ends ends) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::vector<Wait> waits_ ABSL_GUARDED_BY(mutex_);
  uint64_t reached_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t num_added_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: joins before what it uses goes away
};

}  // namespace espalier::shard
