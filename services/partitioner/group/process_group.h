// Several partitioner processes that make one partitioning, and know of each other by what they leave in the store
// alone: no ports, no addresses (docs/decisions/0014-partitioning-by-several-processes.md).
//
// Flow. Each process writes markers once, and waits for those of others by asking for them. While it lives it renews a
// sign of life; a process that fails leaves its reason.
// Guarantees. A wait ends with the marker, with another process's reason, when somebody else has done the work, or
// peer_timeout after the last sign of life of the process that is waited for. A process that starts again under its
// rank finds its own markers and goes on.
// Assumptions. What is put is read by others afterwards (S3 and file systems alike). Clocks are not compared.
// Caveats. A group that has failed is over: the next one takes another name. A group keeps its size: shares follow it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

struct GroupOptions {
  uint32_t rank = 0;
  uint32_t size = 1;
  std::string name;  // the same in all processes of a group, and in no other group: [a-z0-9-], 1 to 64 characters
  std::chrono::milliseconds peer_timeout{60'000};    // the longest silence of a process that has been heard of
  std::chrono::milliseconds start_timeout{600'000};  // of one that has not
};

// InvalidArgument names what is wrong.
Status CheckGroup(const GroupOptions& options);

struct GroupPlace {
  std::string folder;   // where the markers lie, of this group only
  std::string outcome;  // the object that makes the group's work superfluous once it exists, whoever put it there
};

// Publish, Await and Fail: one thread at a time.
class ProcessGroup {
 public:
  // Where a process of the group has failed, its error. InvalidArgument where the group began with another size.
  static Result<std::unique_ptr<ProcessGroup>> Join(storage::ObjectStore& store, GroupPlace place,
                                                    const GroupOptions& options, std::function<bool()> stop_requested);
  // Takes the sign of life away.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  uint32_t rank() const { return options_.rank; }
  uint32_t size() const { return options_.size; }

  // This process's marker `what`, with a text. Written once: where it exists, it stays as it is.
  Status Publish(const std::string& what, const std::string& text);
  // Whether it has been published, by this process or the one that had the rank before.
  Result<bool> HasPublished(const std::string& what);
  // The text of the marker `what` of process `rank`. Errors: of any process that failed, with its rank;
  // DeadlineExceeded where the process is silent for too long; Aborted where the outcome stands, so that the marker may
  // have been deleted; Cancelled; the store's.
  Result<std::string> Await(uint32_t rank, const std::string& what);
  // The same for anything that process `rank` is to bring about.
  Status AwaitThat(uint32_t rank, const std::string& what, const std::function<Result<bool>()>& holds);

  // Tells the others why this process ends, which ends the group. `status` is an error; what others said is not said
  // again. Of what may pass nothing is said: a process that was asked to stop (Cancelled) or does not reach the store
  // (Unavailable, DeadlineExceeded) may be started again and go on, and falls silent where it is not. That another one
  // is silent is said.
  void Fail(const Status& status);

 private:
  class Hearing;

  ProcessGroup(storage::ObjectStore& store, GroupPlace place, const GroupOptions& options,
               std::function<bool()> stop_requested);
  std::string MarkerKey(uint32_t rank, const std::string& what) const;
  std::string AliveKey(uint32_t rank) const;
  // The first process that joins says how many the group has.
  Status AgreeOnSize();
  // What a process that failed said, as an error; ok where none has.
  Status FailureOfAnyone();
  Result<bool> IsSuperfluous();
  Status SayAlive(uint64_t count);
  void KeepSayingAlive();

  storage::ObjectStore& store_;  // outlives this
  const GroupPlace place_;
  const GroupOptions options_;
  const std::function<bool()> stop_requested_;
  bool is_over_ = false;        // by what another process said or did, which is not repeated as ours
  bool found_silence_ = false;  // of a process that was waited for
  Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread alive_;  // last: joins before the rest goes away
};

}  // namespace espalier::partitioner
