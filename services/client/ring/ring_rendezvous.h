// Ranks that have joined a group; held by rank 0 until the group is complete.
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
class RingRendezvous {
 public:
  RingRendezvous(uint32_t size, uint64_t incarnation);

  // Adds rank 0 itself.
  void AddOwn(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
  // Handles a Join request of another rank; responds when the group is complete. A newer request of the same rank
  // replaces the older one.
  grpc::ServerUnaryReactor* Join(const grpc::ByteBuffer* request, grpc::ByteBuffer* reply);
  // Blocks until the group is complete. DeadlineExceeded names the missing ranks.
  Result<collective::v1::JoinResponse> AwaitAll(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes AwaitAll return Cancelled while ranks are missing.
  void StopWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends all pending requests and refuses new ones with Unavailable.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Request;

  Status Check(const collective::v1::JoinRequest& request) const;
  void Add(uint32_t rank, const std::string& address, Request* request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnRequestEnded(Request* request) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return addresses_.size() == size_; }
  collective::v1::JoinResponse MakeResponse() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t size_;
  const uint64_t incarnation_;
  const uint64_t group_;  // random

  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, std::string> addresses_ ABSL_GUARDED_BY(mutex_);  // by rank
  std::map<uint32_t, Request*> requests_ ABSL_GUARDED_BY(mutex_);      // by rank: pending
};

}  // namespace espalier::client
