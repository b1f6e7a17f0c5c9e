#include "services/client/ring/ring_roll.h"

#include <random>
#include <utility>

#include "services/rpc/address.h"
#include "services/rpc/frame.h"
#include "services/rpc/status_map.h"

namespace espalier::client {
namespace {

using collective::v1::JoinRequest;
using collective::v1::JoinResponse;

uint64_t RandomNumber() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

// One call of Join. Owns itself until gRPC is done with it.
class RingRoll::Asker final : public grpc::ServerUnaryReactor {
 public:
  Asker(RingRoll& roll, grpc::ByteBuffer* reply) : roll_(roll), reply_(reply) {}

  // Once.
  void AnswerWith(const Result<JoinResponse>& response) {
    if (response.ok()) *reply_ = rpc::EncodeFrame(*response, {});
    Finish(rpc::ToGrpc(response.status()));
  }
  void OnCancel() override { roll_.OnGone(this); }
  void OnDone() override {
    roll_.OnGone(this);
    delete this;
  }

 private:
  RingRoll& roll_;
  grpc::ByteBuffer* const reply_;
};

RingRoll::RingRoll(uint32_t size, uint64_t incarnation)
    : size_(size), incarnation_(incarnation), group_(RandomNumber()) {}

Status RingRoll::Check(const JoinRequest& request) const {
  const std::string who = "trainer " + std::to_string(request.rank());
  if (request.incarnation() > incarnation_) {
    // The trainer 0 that it looks for will be at this address soon: it may ask again.
    return Unavailable(who + " is of incarnation " + std::to_string(request.incarnation()) + ", trainer 0 still of " +
                       std::to_string(incarnation_));
  }
  if (request.incarnation() < incarnation_) {
    return Aborted(who + " is of incarnation " + std::to_string(request.incarnation()) + ", trainer 0 of " +
                   std::to_string(incarnation_));
  }
  if (request.size() != size_ || request.rank() == 0 || request.rank() >= size_) {
    return InvalidArgument(who + " of " + std::to_string(request.size()) + " cannot join a group of " +
                           std::to_string(size_));
  }
  return rpc::ParseHostPort(request.address()).status().While("the address of " + who);
}

grpc::ServerUnaryReactor* RingRoll::Join(const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  auto* asker = new Asker(*this, reply);
  const Result<rpc::Frame<JoinRequest>> frame = rpc::DecodeFrame<JoinRequest>(*request);
  const Status checked = frame.ok() ? Check(frame->header) : frame.status();
  if (!checked.ok()) {
    asker->AnswerWith(checked);
    return asker;
  }
  MutexLock lock(&mutex_);
  if (closed_) {
    asker->AnswerWith(Unavailable("trainer 0 is leaving the group"));
  } else {
    Add(frame->header.rank(), frame->header.address(), asker);
  }
  return asker;
}

void RingRoll::AddOwn(const std::string& address) {
  MutexLock lock(&mutex_);
  Add(0, address, nullptr);
}

void RingRoll::Add(uint32_t rank, const std::string& address, Asker* asker) {
  if (IsComplete() && addresses_[rank] != address) {
    asker->AnswerWith(
        Aborted("trainer " + std::to_string(rank) + " came twice, from " + addresses_[rank] + " and " + address));
    return;
  }
  addresses_[rank] = address;
  if (asker != nullptr) {
    Asker*& place = askers_[rank];
    if (place != nullptr) place->AnswerWith(Aborted("trainer " + std::to_string(rank) + " asked again"));
    place = asker;
  }
  if (!IsComplete()) return;
  for (auto& [other, waiting] : askers_) waiting->AnswerWith(Answer());
  askers_.clear();
}

JoinResponse RingRoll::Answer() const {
  JoinResponse response;
  response.set_group(group_);
  for (const auto& [rank, address] : addresses_) response.add_addresses(address);
  return response;
}

// Before the group is complete, a rank that stops asking has not come.
void RingRoll::OnGone(Asker* asker) {
  MutexLock lock(&mutex_);
  for (auto place = askers_.begin(); place != askers_.end(); ++place) {
    if (place->second != asker) continue;
    addresses_.erase(place->first);
    askers_.erase(place);
    asker->AnswerWith(Cancelled("the trainer went away"));
    return;
  }
}

Result<JoinResponse> RingRoll::AwaitAll(Deadline deadline) {
  MutexLock lock(&mutex_);
  if (!mutex_.AwaitBefore(deadline,
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsComplete() || stopped_; })) {
    std::string missing;
    for (uint32_t rank = 0; rank < size_ && missing.size() < 200; ++rank) {
      if (!addresses_.contains(rank)) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    }
    return DeadlineExceeded("of " + std::to_string(size_) + " trainers these have not come in time: " + missing);
  }
  if (!IsComplete()) return Cancelled("stopped while waiting for the other ranks");
  return Answer();
}

void RingRoll::StopWaiting() {
  MutexLock lock(&mutex_);
  stopped_ = true;
}

void RingRoll::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  for (auto& [rank, asker] : askers_) asker->AnswerWith(Unavailable("trainer 0 is leaving the group"));
  askers_.clear();
}

}  // namespace espalier::client
