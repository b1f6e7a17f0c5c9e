// For each rank the rendezvous stores the address in its newest request and the number of the connection over which
// that request arrived. The group is complete when all ranks have addresses. Then the addresses do not change any more,
// and a rank that has lost the response may join again with the same address.
#include "services/client/ring/ring_rendezvous.h"

#include "services/base/host_port.h"
#include "services/base/unique_number.h"
#include "services/base/wait_ended.h"

namespace espalier::client {

using collective::v1::JoinRequest;
using collective::v1::JoinResponse;

RingRendezvous::RingRendezvous(uint32_t size, uint64_t incarnation)
    : size_(size), incarnation_(incarnation), group_(UniqueNumber()) {}

Status RingRendezvous::Check(const JoinRequest& request) const {
  const std::string trainer = "trainer " + std::to_string(request.rank());
  if (request.incarnation() > incarnation_) {
    // Rank 0 of the newer incarnation may soon listen on this address: the caller should retry.
    return Unavailable(trainer + " has incarnation " + std::to_string(request.incarnation()) +
                       ", trainer 0 still has incarnation " + std::to_string(incarnation_));
  }
  if (request.incarnation() < incarnation_) {
    return Aborted(trainer + " has incarnation " + std::to_string(request.incarnation()) +
                   ", trainer 0 has incarnation " + std::to_string(incarnation_));
  }
  if (request.size() != size_ || request.rank() == 0 || request.rank() >= size_) {
    return InvalidArgument(trainer + " of " + std::to_string(request.size()) + " cannot join a group of " +
                           std::to_string(size_) + ": expected a rank from 1 to " + std::to_string(size_ - 1) +
                           " and the same group size");
  }
  return ParseHostPort(request.address()).status().While("the address of " + trainer);
}

void RingRendezvous::AddOwn(const std::string& address) {
  MutexLock lock(&mutex_);
  addresses_[0] = address;
}

Status RingRendezvous::Join(const JoinRequest& request, uint64_t connection) {
  RETURN_IF_ERROR(Check(request));
  const uint32_t rank = request.rank();
  MutexLock lock(&mutex_);
  if (IsComplete() && addresses_[rank] != request.address()) {
    return Aborted("trainer " + std::to_string(rank) + " joined twice, from " + addresses_[rank] + " and " +
                   request.address());
  }
  addresses_[rank] = request.address();
  connections_[rank] = connection;
  return Status();
}

std::optional<Result<JoinResponse>> RingRendezvous::FindResponse(uint32_t rank, uint64_t connection) {
  MutexLock lock(&mutex_);
  if (connections_[rank] != connection) return Aborted("trainer " + std::to_string(rank) + " sent a newer request");
  if (IsComplete()) return MakeResponse();
  return std::nullopt;
}

void RingRendezvous::Remove(uint32_t rank, uint64_t connection) {
  MutexLock lock(&mutex_);
  if (IsComplete() || connections_[rank] != connection) return;
  addresses_.erase(rank);
  connections_.erase(rank);
}

JoinResponse RingRendezvous::MakeResponse() const {
  JoinResponse response;
  response.set_group(group_);
  for (const auto& [rank, address] : addresses_) response.add_addresses(address);
  return response;
}

Result<JoinResponse> RingRendezvous::AwaitAll(Deadline deadline) {
  MutexLock lock(&mutex_);
  if (!mutex_.AwaitBefore(deadline,
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsComplete() || stopped_; })) {
    std::string missing;
    for (uint32_t rank = 0; rank < size_ && missing.size() < 200; ++rank) {
      if (!addresses_.contains(rank)) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    return WaitEnded(deadline,
                     "some of " + std::to_string(size_) + " trainers did not join before the deadline: " + missing);
  }
  if (!IsComplete()) return Cancelled("stopped while waiting for the other ranks");
  return MakeResponse();
}

void RingRendezvous::StopWaiting() {
  MutexLock lock(&mutex_);
  stopped_ = true;
}

}  // namespace espalier::client
