// Elects one of several processes as leader with a Lease (client-go's tools/leaderelection). The leader renews the
// Lease. Another process takes the Lease if the Lease has not changed for the `lease_duration` of that process or for
// the duration that the Lease states (of which at most 1 h counts), whichever is longer. The process measures this time
// from the last change that it saw, by its own monotonic clock. A Lease without a holder is taken at once. The points
// in time in the Lease are informational: clocks of different machines are not compared.
//
//   leader     starts measuring just before it sends a renewal; stops leading renew_deadline later (`lost` is called)
//   others     start measuring just after they saw the Lease change; take the Lease lease_duration later
//
// Guarantees:
// - The time from the end of one leadership to the start of the next is at least lease_duration - renew_deadline,
//   unless the leader released the Lease.
// - `lost` is called at most once: when renew_deadline has passed, even while a request hangs, or as soon as another
//   holder is seen. It is called before anything that may block, such as logging. It should end the process (_exit),
//   because writes may be in progress.
// - A single renewal that hangs does not end the leadership: another one fits before renew_deadline (LeaseCallTimeout).
// - All this also holds if the Lease is deleted, with one exception: a process that has never seen the Lease creates it
//   and leads immediately.
// There is no fencing: late writes of an old leader are possible. For that reason names of objects are deterministic.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "operator/client/api_client.h"
#include "operator/kube/time.h"
#include "services/base/mutex.h"
#include "services/base/philox.h"

namespace espalier::ctl::runtime {

struct LeaderElectionOptions {
  kube::ObjectKey lease;  // "espalier-system/espalier-operator"
  std::string identity;   // unique per process: pod name and a random suffix
  std::chrono::milliseconds lease_duration{10000};
  std::chrono::milliseconds renew_deadline{7000};
  // Between starts of tries; up to half more while this process does not lead.
  std::chrono::milliseconds retry_period{2000};
};
// Returns the longest request timeout that leaves time for a second try before renew_deadline if the first try hangs.
// The second try starts retry_period after the start of the first one, or when the first one has failed, whichever is
// later. The result is positive only if retry_period is less than half of renew_deadline.
std::chrono::milliseconds LeaseCallTimeout(const LeaderElectionOptions& options);

struct LeaseRecord {
  std::string holder;
  int64_t duration_seconds = 0;
  int64_t transitions = 0;
  kube::WallTime acquired_at{};
  kube::WallTime renewed_at{};
  std::string resource_version;
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};
// Parses a Lease. Absent or invalid fields are empty or zero. Returns InvalidArgument if there is no resourceVersion.
Result<LeaseRecord> ParseLease(const kube::Json& object);

// Thread-safe, except that Start, TryOnce, NextTryAt and StopAndRelease must be called by one thread.
class LeaderElector {
 public:
  // `client` should not be shared: its call_timeout must be at most LeaseCallTimeout (checked), and a renewal must not
  // wait for the rate limit of other requests.
  LeaderElector(client::ApiClient& client, LeaderElectionOptions options, std::function<void()> lost,
                telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~LeaderElector();  // does not release

  // Tries once to take or renew the Lease; returns whether this process leads. A thread calls it at NextTryAt; public
  // for tests.
  bool TryOnce();
  // Returns when the next try is due: retry_period, or up to half more for a follower, after the start of the last try.
  // In the past after a slow try.
  SteadyTime NextTryAt() const { return next_try_at_; }
  // Calls `lost` if this process leads and renew_deadline has passed. A second thread calls it; public for tests.
  void CheckRenewDeadline();
  void Start();
  // Blocks until this process leads. Returns false at the deadline, after a loss or after StopAndRelease.
  bool WaitToLead(Deadline deadline);
  bool is_leader() const;
  std::string holder() const;  // as last seen
  // Stops the threads and releases the Lease if held, so that the next leader need not wait. Call it after all work has
  // stopped. Idempotent.
  void StopAndRelease();
  // For /livez. If this process leads or has lost the Lease, returns whether the last renewal is younger than
  // lease_duration plus `grace`. Otherwise (it has never led, or has stopped) returns true.
  bool IsHealthy(std::chrono::nanoseconds grace) const;

 private:
  enum class Role { kFollower, kLeader, kLost, kStopped };

  Status Try();
  Status Create();
  Status Write(LeaseRecord record);
  void Observe(const LeaseRecord& record);
  void Adopt(kube::Json object, const LeaseRecord& record, SteadyTime sent_at);
  bool IsAvailable(const LeaseRecord& record) const;
  LeaseRecord OwnRecord(const LeaseRecord& before) const;
  void Lose(const char* reason);
  void Release();
  void RunTries();
  void RunDeadlines();
  bool IsInTerm() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  client::ApiClient& client_;
  const LeaderElectionOptions options_;
  const std::function<void()> lost_;
  Clock& clock_;
  telemetry::Gauge leads_;

  // Used only by the thread that tries.
  PhiloxStream jitter_;
  kube::Json object_;  // as last read or written; null: none yet
  SteadyTime next_try_at_{};

  mutable Mutex mutex_;
  Role role_ ABSL_GUARDED_BY(mutex_) = Role::kFollower;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  LeaseRecord observed_ ABSL_GUARDED_BY(mutex_);
  SteadyTime observed_at_ ABSL_GUARDED_BY(mutex_){};  // when observed_ was first seen
  SteadyTime renewed_at_ ABSL_GUARDED_BY(mutex_){};   // when the last renewal was sent

  std::jthread tries_;  // last members, so that they are joined before the others are destroyed
  std::jthread deadlines_;
};

}  // namespace espalier::ctl::runtime
