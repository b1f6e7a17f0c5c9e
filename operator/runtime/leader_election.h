// One of several processes at a time, by a Lease (client-go's tools/leaderelection): whoever holds it renews it; the
// others take it once it has not changed for `lease_duration` of their own monotonic time. The times in the Lease are
// for people: clocks of different machines are not compared.
//
//   leader     counts from before a renewal was sent; gives up renew_deadline later, and `lost` is called
//   others     count from after they saw the Lease change; take it lease_duration later
//
// Guarantees: between the leader's giving up and another's taking over lies at least lease_duration - renew_deadline.
// `lost` is called once, also while a request hangs, and at once when another holder is seen, before anything that may
// wait, a line to the log among it; it should end the process (_exit), for there may be writes under way. One request
// that hangs costs no term: another try fits before renew_deadline (LeaseCallTimeout). All of
// it holds where somebody deletes the Lease too, but for a process that has never seen it, which takes it at once.
// Caveat: no fencing; names are deterministic for that reason.
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
  std::chrono::milliseconds retry_period{2000};  // from start to start; up to half more while another leads
};
// How long a request may take so that a renewal that hangs leaves time for one more: it is sent retry_period after the
// renewal before it, the next one retry_period later, or as soon as it has failed. Not positive where retry_period is
// not below half of renew_deadline.
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
// What is missing, or no time, is empty or zero. InvalidArgument for what is no object with a resourceVersion.
Result<LeaseRecord> ParseLease(const kube::Json& object);

// Thread-safe, but that Start, TryOnce, NextTryAt and StopAndRelease are one thread's.
class LeaderElector {
 public:
  // `client` is best its own: its call_timeout is LeaseCallTimeout at most (checked), and it must not wait for others'
  // tokens.
  LeaderElector(client::ApiClient& client, LeaderElectionOptions options, std::function<void()> lost,
                telemetry::MetricRegistry& metrics, Clock& clock = Clock::Real());
  ~LeaderElector();  // does not release

  // One try to take or renew: true while this process leads. What a thread does at NextTryAt; tests call it.
  bool TryOnce();
  // retry_period after the last try began, which may be over: a try that took long is followed at once.
  SteadyTime NextTryAt() const { return next_try_at_; }
  // Calls `lost` where renew_deadline has passed. What another thread does at that moment; tests call it.
  void CheckRenewDeadline();
  void Start();
  // True once this process leads; false at the deadline, after a loss or after StopAndRelease.
  bool WaitToLead(Deadline deadline);
  bool is_leader() const;
  std::string holder() const;  // as last seen
  // Gives the lease back if held, so that another need not wait; after all work has stopped. Idempotent.
  void StopAndRelease();
  // False when this process leads, or did until it lost the lease, and has not renewed for lease_duration and `grace`:
  // for /livez.
  bool IsHealthy(std::chrono::nanoseconds grace) const;

 private:
  enum class Role { kFollower, kLeader, kLost, kStopped };

  Status Try();
  Status Create();
  Status Write(LeaseRecord record);
  void Observe(const LeaseRecord& record);
  void Adopt(kube::Json object, const LeaseRecord& record, SteadyTime asked_at);
  bool MayBeTaken(const LeaseRecord& record) const;
  LeaseRecord OwnRecord(const LeaseRecord& before) const;
  void Lose(const char* why);
  void Release();
  void RunTries();
  void RunDeadlines();
  bool IsInTerm() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  client::ApiClient& client_;
  const LeaderElectionOptions options_;
  const std::function<void()> lost_;
  Clock& clock_;
  telemetry::Gauge leads_;

  // Of the thread that tries.
  PhiloxStream jitter_;
  kube::Json object_;  // as last read or written; null: none yet
  SteadyTime next_try_at_{};

  mutable Mutex mutex_;
  Role role_ ABSL_GUARDED_BY(mutex_) = Role::kFollower;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  LeaseRecord observed_ ABSL_GUARDED_BY(mutex_);
  SteadyTime observed_at_ ABSL_GUARDED_BY(mutex_){};  // when it was first seen so
  SteadyTime renewed_at_ ABSL_GUARDED_BY(mutex_){};   // when the last renewal was sent

  std::jthread tries_;  // last: they end before what they use
  std::jthread deadlines_;
};

}  // namespace espalier::ctl::runtime
