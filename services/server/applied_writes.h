// Records which tensor changes have been applied, so that a repeated message is acknowledged and not applied again. If
// the first attempt of a change is still queued when its retry arrives, both are processed; the one that is processed
// last must not undo a change that was made in between. A change is claimed before it is applied, so of two concurrent
// attempts only one applies it.
//
// A client numbers its changes and sends with each the lowest number that is still in flight. All changes below that
// number have ended, successfully or not: this class forgets them and refuses their late messages, so that a late
// message of a failed change never overwrites a later change.
//
// A client is remembered at least until the deadlines of its calls guarantee that none of its changes can arrive again.
// If it were forgotten earlier, a repeated change would be applied as a new one. While all `max_clients` slots hold
// clients that must still be remembered, changes of new clients have to wait.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"

namespace espalier::server {

// Thread-safe.
class AppliedWrites {
 public:
  static constexpr size_t kMaxClients = 65'536;  // less than 1 KiB each, as long as few of their changes are in flight
  // How long after its call's deadline a message may still arrive: it can be in a socket buffer.
  static constexpr std::chrono::minutes kMaxMessageDelay{1};
  // A call without a deadline, or with one that is further away than this, is treated as if its deadline were this far
  // away, so that no client occupies a slot forever.
  static constexpr std::chrono::hours kMaxCallTime{1};
  // A change's number may exceed its client's lowest number in flight by less than this. Each such change takes a byte.
  static constexpr uint64_t kWindow = 4096;

  struct Number {
    uint64_t client_id = 0;
    uint64_t sequence = 0;          // more than 0
    uint64_t lowest_in_flight = 0;  // the client's lowest number in flight, at most `sequence`; 0: unknown
  };
  enum class Claim {
    kTaken,     // the caller applies the change, then calls MarkApplied or MarkFailed
    kApplied,   // applied before: nothing to do
    kUnderWay,  // this change, or an earlier one that the client gave up, is being applied: retry
    kTooMany,   // too far above the lowest number in flight: retry
    kObsolete,  // the change has ended for its client: refuse the message
    kFull,      // every slot belongs to a client that may still repeat a change: retry
  };

  // Remembers at most `max_clients` clients. `clock` outlives this object.
  explicit AppliedWrites(size_t max_clients = kMaxClients, Clock& clock = Clock::Real())
      : max_clients_(max_clients), clock_(clock) {}

  // Claims a change, or returns why it cannot be claimed. `deadline` is the deadline of the call with all its retries.
  Claim TryClaim(const Number& change, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a claim. After MarkFailed, the next attempt may claim the change.
  void MarkApplied(const Number& change) ABSL_LOCKS_EXCLUDED(mutex_) { End(change, State::kApplied); }
  void MarkFailed(const Number& change) ABSL_LOCKS_EXCLUDED(mutex_) { End(change, State::kUnknown); }

 private:
  enum class State : uint8_t { kUnknown, kUnderWay, kApplied };  // kUnknown: not claimed, or failed
  struct Client {
    uint64_t below = 1;          // all changes with lower numbers have ended
    std::deque<State> changes;   // changes[i] is the state of the change with sequence number `below` + i
    uint64_t num_under_way = 0;  // changes that are claimed and have not ended
    SteadyTime needed_until;     // after this time no message of the client's calls can arrive
  };

  // Returns the client's record, a new record for a new client, or null for Claim::kFull.
  Client* FindOrAddClient(uint64_t client_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Claim ClaimChange(Client& client, const Number& change);
  void End(const Number& change, State state) ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t max_clients_;
  Clock& clock_;
  Mutex mutex_;
  absl::flat_hash_map<uint64_t, Client> clients_ ABSL_GUARDED_BY(mutex_);
  // Clients without a change under way, ordered by `needed_until`.
  std::set<std::pair<SteadyTime, uint64_t>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
