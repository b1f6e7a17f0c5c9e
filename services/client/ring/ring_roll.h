// Who of a group has come: kept by rank 0 until all have.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "espalier/collective/v1/ring.pb.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace espalier::client {

// Thread-safe.
class RingRoll {
 public:
  RingRoll(uint32_t size, uint64_t incarnation);

  // Rank 0 itself.
  void AddOwn(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
  // Another rank's question, answered when all have come. A rank that asks again takes its own place.
  grpc::ServerUnaryReactor* Join(const grpc::ByteBuffer* request, grpc::ByteBuffer* reply);
  Result<collective::v1::JoinResponse> AwaitAll(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on AwaitAll ends with Cancelled where somebody is missing.
  void StopWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody need wait any longer.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Asker;

  Status Check(const collective::v1::JoinRequest& request) const;
  void Add(uint32_t rank, const std::string& address, Asker* asker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnGone(Asker* asker) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return addresses_.size() == size_; }
  collective::v1::JoinResponse Answer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t size_;
  const uint64_t incarnation_;
  const uint64_t group_;  // random

  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, std::string> addresses_ ABSL_GUARDED_BY(mutex_);  // by rank
  std::map<uint32_t, Asker*> askers_ ABSL_GUARDED_BY(mutex_);          // by rank: who waits for the answer
};

}  // namespace espalier::client
