// Which changes of tensors have been applied, so that one that arrives again is acknowledged and not applied again: a
// retry whose first try still sat in a queue must not undo a later change. A change is claimed before it is applied, so
// that of two tries at the same time only one applies it.
//
// A client numbers its changes and says with each which is the lowest that is still under way. Below that all have
// ended, for better or worse: they are forgotten, and a message of theirs that comes late is refused, so that what
// follows a failed change is never overwritten by it.
//
// A client is remembered until none of its changes can come again, by the deadlines of its calls: whoever forgets it
// before that takes a repetition for a new change. While that holds for all that there is room for, new ones wait.
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
  static constexpr size_t kMaxClients = 65'536;  // less than 1 KiB each, as long as few of their changes are under way
  // A message may come so long after its call's deadline: it lay in a socket.
  static constexpr std::chrono::minutes kLateness{1};
  // Whoever sets a later deadline, or none, is remembered for so long: nobody takes the room of others for ever.
  static constexpr std::chrono::hours kLongestCall{1};
  // A client may have so many numbers from the lowest that is under way on: a byte for each is all that it takes here.
  static constexpr uint64_t kWindow = 4096;

  struct Number {
    uint64_t client_id = 0;
    uint64_t sequence = 0;          // more than 0
    uint64_t lowest_under_way = 0;  // at most `sequence`; 0: says nothing
  };
  enum class Claim {
    kTaken,     // the caller applies the change, then calls Applied or Failed
    kApplied,   // nothing to do
    kUnderWay,  // another try applies it at this moment, or one that its client has given up: come again
    kTooMany,   // too far from the lowest that is under way: come again
    kOver,      // its client has been told how it ended
    kFull,      // the room is that of others, who may still repeat theirs: come again
  };

  // `clock` outlives this.
  explicit AppliedWrites(size_t max_clients = kMaxClients, Clock& clock = Clock::Real())
      : max_clients_(max_clients), clock_(clock) {}

  // `deadline`: of the call, all of its tries included.
  Claim TryClaim(const Number& change, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // The end of a claim. Failed: the next try may claim the change.
  void Applied(const Number& change) ABSL_LOCKS_EXCLUDED(mutex_) { End(change, State::kApplied); }
  void Failed(const Number& change) ABSL_LOCKS_EXCLUDED(mutex_) { End(change, State::kUnknown); }

 private:
  enum class State : uint8_t { kUnknown, kUnderWay, kApplied };
  struct Client {
    uint64_t below = 1;          // what is below is over
    std::deque<State> changes;   // from `below` on
    uint64_t num_under_way = 0;  // of them
    SteadyTime needed_until;     // when the last of its calls' messages has come
  };

  // Null where there is no room for one more.
  Client* FindClient(uint64_t client_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Claim ClaimFor(Client& client, const Number& change);
  void End(const Number& change, State state) ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t max_clients_;
  Clock& clock_;
  Mutex mutex_;
  absl::flat_hash_map<uint64_t, Client> clients_ ABSL_GUARDED_BY(mutex_);
  // Those that have nothing under way, by `needed_until`.
  std::set<std::pair<SteadyTime, uint64_t>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
