// Rank 0's record of the ranks that have joined the group, and of their addresses.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "espalier/collective/v1/ring.pb.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace espalier::client {

// Thread-safe.
class RingRendezvous {
 public:
  RingRendezvous(uint32_t size, uint64_t incarnation);

  // Adds rank 0 with its own address.
  void AddOwn(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the rank of a request that arrived over connection number `connection`. A newer request of the same rank
  // replaces the older one. Unavailable: the request is of a newer incarnation, whose rank 0 may soon listen on this
  // address. Aborted: the request is of an older incarnation, or the group is complete and has the rank at another
  // address. InvalidArgument: the rank, the size or the address is invalid.
  Status Join(const collective::v1::JoinRequest& request, uint64_t connection) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the response to the request that `rank` sent over `connection`, or nullopt while ranks are missing. The
  // response is Aborted if the rank has sent a newer request.
  std::optional<Result<collective::v1::JoinResponse>> FindResponse(uint32_t rank, uint64_t connection)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes `rank`, whose `connection` has ended, unless the group is complete or the rank has sent a newer request.
  void Remove(uint32_t rank, uint64_t connection) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the group is complete. DeadlineExceeded: ranks are missing; the message names them. Cancelled:
  // StopWaiting was called, or the deadline's stop was requested.
  Result<collective::v1::JoinResponse> AwaitAll(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes AwaitAll return Cancelled while ranks are missing.
  void StopWaiting() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Returns the errors of Join that do not depend on which ranks have joined.
  Status Check(const collective::v1::JoinRequest& request) const;
  bool IsComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return addresses_.size() == size_; }
  collective::v1::JoinResponse MakeResponse() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t size_;
  const uint64_t incarnation_;
  const uint64_t group_;  // random

  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, std::string> addresses_ ABSL_GUARDED_BY(mutex_);  // by rank
  std::map<uint32_t, uint64_t> connections_ ABSL_GUARDED_BY(mutex_);   // by rank: connection of its newest request
};

}  // namespace espalier::client
