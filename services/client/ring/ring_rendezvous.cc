#include "services/client/ring/ring_rendezvous.h"

#include <random>
#include <utility>

#include "services/rpc/address.h"
#include "services/rpc/frame.h"
#include "services/rpc/status_map.h"

namespace espalier::client {
namespace {

using collective::v1::JoinRequest;
using collective::v1::JoinResponse;

uint64_t DrawRandomNumber() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

// One call of Join. Owns itself until OnDone.
class RingRendezvous::Request final : public grpc::ServerUnaryReactor {
 public:
  Request(RingRendezvous& rendezvous, grpc::ByteBuffer* reply) : rendezvous_(rendezvous), reply_(reply) {}

  // Must be called exactly once.
  void Respond(const Result<JoinResponse>& response) {
    if (response.ok()) *reply_ = rpc::EncodeFrame(*response, {});
    Finish(rpc::ToGrpc(response.status()));
  }
  void OnCancel() override { rendezvous_.OnRequestEnded(this); }
  void OnDone() override {
    rendezvous_.OnRequestEnded(this);
    delete this;
  }

 private:
  RingRendezvous& rendezvous_;
  grpc::ByteBuffer* const reply_;
};

RingRendezvous::RingRendezvous(uint32_t size, uint64_t incarnation)
    : size_(size), incarnation_(incarnation), group_(DrawRandomNumber()) {}

Status RingRendezvous::Check(const JoinRequest& request) const {
  const std::string trainer = "trainer " + std::to_string(request.rank());
  if (request.incarnation() > incarnation_) {
    // Trainer 0 of the newer incarnation will use this address soon: the caller should retry.
    return Unavailable(trainer + " has incarnation " + std::to_string(request.incarnation()) +
                       ", trainer 0 still has incarnation " + std::to_string(incarnation_));
  }
  if (request.incarnation() < incarnation_) {
    return Aborted(trainer + " has incarnation " + std::to_string(request.incarnation()) +
                   ", trainer 0 has incarnation " + std::to_string(incarnation_));
  }
  if (request.size() != size_ || request.rank() == 0 || request.rank() >= size_) {
    return InvalidArgument(trainer + " of " + std::to_string(request.size()) + " cannot join a group of " +
                           std::to_string(size_));
  }
  return rpc::ParseHostPort(request.address()).status().While("the address of " + trainer);
}

grpc::ServerUnaryReactor* RingRendezvous::Join(const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  auto* call = new Request(*this, reply);
  const Result<rpc::Frame<JoinRequest>> frame = rpc::DecodeFrame<JoinRequest>(*request);
  const Status checked = frame.ok() ? Check(frame->header) : frame.status();
  if (!checked.ok()) {
    call->Respond(checked);
    return call;
  }
  MutexLock lock(&mutex_);
  if (closed_) {
    call->Respond(Unavailable("trainer 0 is leaving the group"));
  } else {
    Add(frame->header.rank(), frame->header.address(), call);
  }
  return call;
}

void RingRendezvous::AddOwn(const std::string& address) {
  MutexLock lock(&mutex_);
  Add(0, address, nullptr);
}

void RingRendezvous::Add(uint32_t rank, const std::string& address, Request* call) {
  if (IsComplete() && addresses_[rank] != address) {
    call->Respond(
        Aborted("trainer " + std::to_string(rank) + " joined twice, from " + addresses_[rank] + " and " + address));
    return;
  }
  addresses_[rank] = address;
  if (call != nullptr) {
    Request*& place = requests_[rank];
    if (place != nullptr) place->Respond(Aborted("trainer " + std::to_string(rank) + " sent a newer request"));
    place = call;
  }
  if (!IsComplete()) return;
  for (auto& [other, waiting] : requests_) waiting->Respond(MakeResponse());
  requests_.clear();
}

JoinResponse RingRendezvous::MakeResponse() const {
  JoinResponse response;
  response.set_group(group_);
  for (const auto& [rank, address] : addresses_) response.add_addresses(address);
  return response;
}

// A rank whose request ends before the group is complete no longer counts as joined.
void RingRendezvous::OnRequestEnded(Request* call) {
  MutexLock lock(&mutex_);
  for (auto place = requests_.begin(); place != requests_.end(); ++place) {
    if (place->second != call) continue;
    addresses_.erase(place->first);
    requests_.erase(place);
    call->Respond(Cancelled("the trainer cancelled its request"));
    return;
  }
}

Result<JoinResponse> RingRendezvous::AwaitAll(Deadline deadline) {
  MutexLock lock(&mutex_);
  if (!mutex_.AwaitBefore(deadline,
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsComplete() || stopped_; })) {
    std::string missing;
    for (uint32_t rank = 0; rank < size_ && missing.size() < 200; ++rank) {
      if (!addresses_.contains(rank)) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    return DeadlineExceeded("some of " + std::to_string(size_) +
                            " trainers did not join before the deadline: " + missing);
  }
  if (!IsComplete()) return Cancelled("stopped while waiting for the other ranks");
  return MakeResponse();
}

void RingRendezvous::StopWaiting() {
  MutexLock lock(&mutex_);
  stopped_ = true;
}

void RingRendezvous::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  for (auto& [rank, waiting] : requests_) waiting->Respond(Unavailable("trainer 0 is leaving the group"));
  requests_.clear();
}

}  // namespace espalier::client
