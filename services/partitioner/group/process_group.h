// A group of partitioner processes that make one partitioning. They coordinate through objects in the store only,
// without ports or addresses (docs/decisions/0014-partitioning-by-several-processes.md).
//
// Flow: each process publishes markers, which are written once, and polls for the markers of other processes. A running
// process renews its heartbeat; a process that fails publishes its error.
//
// Guarantees: a wait ends when the marker exists, when a process publishes an error, when the outcome
// (GroupPlace::outcome) exists because another process has done the work, when this process is asked to stop, after an
// error of the store, or peer_timeout after the last heartbeat of the awaited process. If the wait finds no heartbeat,
// it ends start_timeout after its beginning. A process that is restarted with its rank finds its own markers and
// resumes.
//
// Assumptions: an object that was put is visible to later reads of other processes, as in S3 and file systems. Clocks
// of different processes are not compared.
//
// Limitations: a group that has failed cannot be used again; a retry needs another name. The size of a group is fixed,
// because the share of the work that each process does depends on it.
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
  std::string name;  // equal in all processes of a group and unique to the group: [a-z0-9-], 1 to 64 characters
  std::chrono::milliseconds peer_timeout{60'000};    // how long a process may go without a heartbeat
  std::chrono::milliseconds start_timeout{600'000};  // how long a wait for a process without any heartbeat may take
};

// Returns InvalidArgument, which names the wrong option, for an invalid size, rank or name.
Status CheckGroup(const GroupOptions& options);

// The location of a group in the store.
struct GroupPlace {
  std::string folder;   // folder of the group's markers; no other group uses it
  std::string outcome;  // key of the result: once this object exists, the group's work is not needed any more
};

// One process's membership in a group. Not thread-safe. A background thread renews the heartbeat.
class ProcessGroup {
 public:
  // Joins the group and starts the heartbeat. If a process of the group has failed, returns its error. InvalidArgument
  // if the group was started with another size, or from CheckGroup. `stop_requested` is called during waits and may be
  // null.
  static Result<std::unique_ptr<ProcessGroup>> Join(storage::ObjectStore& store, GroupPlace place,
                                                    const GroupOptions& options, std::function<bool()> stop_requested);
  // Stops the heartbeat and deletes its object.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  uint32_t rank() const { return options_.rank; }
  uint32_t size() const { return options_.size; }

  // Publishes this process's marker `what` with the text. Does not change an existing marker.
  Status Publish(const std::string& what, const std::string& text);
  // Returns whether this rank has published the marker `what`, in this process or before a restart.
  Result<bool> HasPublished(const std::string& what);
  // Blocks until process `rank` has published the marker `what`, and returns its text. Errors: the error of a process
  // that failed, with its rank; DeadlineExceeded if the process has no heartbeat for too long; Aborted if the outcome
  // exists, because markers may be deleted then; Cancelled if a stop is requested; those of the store.
  Result<std::string> Await(uint32_t rank, const std::string& what);
  // Blocks until the condition `holds` returns true. Process `rank` is expected to make it true. `what` describes the
  // condition in messages. Errors as for Await, and those of `holds`.
  Status AwaitCondition(uint32_t rank, const std::string& what, const std::function<Result<bool>()>& holds);

  // Publishes the error `status` of this process, which ends the group. Does nothing if the error came from another
  // process or is the Aborted of a wait, and for transient errors: a process that was asked to stop (Cancelled) or
  // cannot reach the store (Unavailable, DeadlineExceeded) may be restarted and resume; if it is not, the other
  // processes detect the missing heartbeat. A DeadlineExceeded that reports another process's missing heartbeat is
  // published.
  void Fail(const Status& status);

 private:
  class HeartbeatWatch;

  ProcessGroup(storage::ObjectStore& store, GroupPlace place, const GroupOptions& options,
               std::function<bool()> stop_requested);
  std::string MarkerKey(uint32_t rank, const std::string& what) const;
  std::string HeartbeatKey(uint32_t rank) const;
  // Records the size of the group if this process is the first to join. InvalidArgument if another size is recorded.
  Status AgreeOnSize();
  // Returns the published error of a process that failed, or OK if none has.
  Status FindPublishedFailure();
  // Returns whether the outcome exists.
  Result<bool> HasOutcome();
  // Writes the heartbeat.
  Status WriteHeartbeat(uint64_t count);
  // Renews the heartbeat until the destructor runs.
  void RenewHeartbeat();

  storage::ObjectStore& store_;  // outlives this
  const GroupPlace place_;
  const GroupOptions options_;
  const std::function<bool()> stop_requested_;
  bool is_over_ = false;        // another process failed or the outcome exists: Fail publishes nothing
  bool found_silence_ = false;  // an awaited process had no heartbeat for too long
  Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread heartbeat_;  // last member: joined before the other members are destroyed
};

}  // namespace espalier::partitioner
