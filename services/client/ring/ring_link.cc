#include "services/client/ring/ring_link.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <utility>

#include "services/base/shorten.h"
#include "services/rpc/status_map.h"

namespace espalier::client {
namespace {

using collective::v1::PassEnd;
using collective::v1::Segment;

constexpr const char* kPass = "/espalier.collective.v1.Ring/Pass";
// How long whoever fails waits for its neighbours to know, so that they do not go on with what it has given up.
constexpr std::chrono::milliseconds kTelling(200);
// Segments read ahead of the operation that takes them; beyond these the sender waits.
constexpr size_t kMostWaiting = 8;

Result<ArrivedSegment> Decode(const grpc::ByteBuffer& bytes) {
  ASSIGN_OR_RETURN(rpc::FrameReader reader, rpc::FrameReader::Open(bytes));
  Segment header;
  RETURN_IF_ERROR(reader.ReadHeader(&header));
  return ArrivedSegment{std::move(header), std::move(reader), bytes};
}

// Why a neighbour ended, from its own words. (At most as long as a status that travels.)
Status ReasonOf(const std::string& neighbour, const std::string& error) {
  if (error.empty()) return Unavailable(neighbour + " has left the group");
  return Unavailable(neighbour + " gave up: " + ShortenMiddle(error, rpc::kMaxStatusMessageBytes));
}

}  // namespace

// A stream to this rank. Owns itself until gRPC is done with it.
class RingLink::IncomingPass final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit IncomingPass(std::shared_ptr<RingLink> link) : link_(std::move(link)) {}

  void OnReadDone(bool ok) override { link_->OnArrived(this, ok); }
  void OnDone() override {
    link_->OnIncomingDone(this);
    delete this;
  }

  grpc::ByteBuffer incoming;  // one read at a time
  grpc::ByteBuffer farewell;
  bool greeted = false;
  bool finished = false;  // Finish was called

 private:
  const std::shared_ptr<RingLink> link_;
};

// The stream from this rank. Owns itself until gRPC is done with it.
class RingLink::OutgoingPass final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit OutgoingPass(std::shared_ptr<RingLink> link) : link_(std::move(link)) {}

  void OnWriteDone(bool ok) override { link_->OnSent(ok); }
  void OnReadDone(bool ok) override { link_->OnNextEnds(*this, ok); }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<OutgoingPass> last = std::move(self);
    link_->OnOutgoingDone(rpc::FromGrpc(status));
  }

  std::shared_ptr<OutgoingPass> self;
  grpc::ClientContext context;
  grpc::ByteBuffer incoming, outgoing;

 private:
  const std::shared_ptr<RingLink> link_;
};

std::string RingLink::NameOfPrevious() const { return "trainer " + std::to_string((rank_.value + size_ - 1) % size_); }

std::string RingLink::NameOfNext() const { return "trainer " + std::to_string((rank_.value + 1) % size_); }

// --- the stream from the previous rank

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RingLink::AcceptStream() {
  auto* pass = new IncomingPass(shared_from_this());
  MutexLock lock(&mutex_);
  passes_.insert(pass);
  if (!death_.ok() || leaving_) {
    Refuse(pass, Unavailable("trainer " + std::to_string(rank_.value) + " is leaving the group"));
  } else {
    pass->StartRead(&pass->incoming);
  }
  return pass;
}

void RingLink::OnArrived(IncomingPass* pass, bool ok) {
  Result<ArrivedSegment> segment = ok ? Decode(pass->incoming) : Cancelled("the stream ended");
  MutexLock lock(&mutex_);
  if (pass == previous_) reading_ = false;
  if (pass->finished) return;
  if (!pass->greeted) {
    if (!segment.ok()) return Refuse(pass, segment.status());
    return TakeGreeting(pass, segment->header);
  }
  if (pass != previous_) return Refuse(pass, Aborted("another stream has taken this one's place"));
  if (!segment.ok()) {
    // The end of a stream, after a farewell or without.
    if (!previous_gone_.has_value()) previous_gone_ = Gone{0, Unavailable(NameOfPrevious() + " went away")};
    Finish(pass);
    return CheckNeighbours();
  }
  if (segment->header.kind() == collective::v1::SEGMENT_KIND_FAREWELL) {
    previous_gone_ = Gone{segment->header.finished_operations(), ReasonOf(NameOfPrevious(), segment->header.error())};
    CheckNeighbours();
  } else {
    waiting_.push_back(*std::move(segment));
  }
  ReadMore();
}

void RingLink::TakeGreeting(IncomingPass* pass, const Segment& greeting) {
  const uint32_t expected = (rank_.value + size_ - 1) % size_;
  if (greeting.kind() != collective::v1::SEGMENT_KIND_GREETING || greeting.rank() != expected || accepted_) {
    return Refuse(pass, InvalidArgument("a greeting of trainer " + std::to_string(greeting.rank()) + " to trainer " +
                                        std::to_string(rank_.value) + ", which expects one of trainer " +
                                        std::to_string(expected)));
  }
  pass->greeted = true;
  if (greeted_ != nullptr) Refuse(greeted_, Aborted("another stream has taken this one's place"));
  greeted_ = pass;
  greeted_group_ = greeting.group();
  AcceptGreeted();
}

void RingLink::AcceptGreeted() {
  if (greeted_ == nullptr || !group_.has_value()) return;
  IncomingPass* pass = std::exchange(greeted_, nullptr);
  if (greeted_group_ != *group_) return Refuse(pass, Aborted("a stream of another group"));
  previous_ = pass;
  accepted_ = true;
  ReadMore();
}

void RingLink::ReadMore() {
  if (previous_ == nullptr || reading_ || waiting_.size() >= kMostWaiting) return;
  reading_ = true;
  previous_->incoming.Clear();
  previous_->StartRead(&previous_->incoming);
}

void RingLink::Refuse(IncomingPass* pass, const Status& why) {
  if (std::exchange(pass->finished, true)) return;
  if (pass == greeted_) greeted_ = nullptr;
  pass->Finish(rpc::ToGrpc(why));
}

void RingLink::Finish(IncomingPass* pass) {
  if (std::exchange(pass->finished, true)) return;
  if (pass == previous_) previous_ = nullptr;
  PassEnd end;
  end.set_finished_operations(finished_);
  end.set_error(death_.message());
  pass->farewell = rpc::EncodeFrame(std::move(end), {});
  pass->StartWriteAndFinish(&pass->farewell, grpc::WriteOptions(), grpc::Status::OK);
}

void RingLink::OnIncomingDone(IncomingPass* pass) {
  MutexLock lock(&mutex_);
  passes_.erase(pass);
}

// --- the stream to the next rank

void RingLink::Connect(uint64_t group, std::shared_ptr<rpc::Peer> next) {
  auto pass = std::make_shared<OutgoingPass>(shared_from_this());
  pass->self = pass;
  pass->context.set_wait_for_ready(true);  // bounded by the caller's deadline: Fail cancels
  next->stub.PrepareBidiStreamingCall(&pass->context, kPass, grpc::StubOptions(), pass.get());
  Segment greeting;
  greeting.set_kind(collective::v1::SEGMENT_KIND_GREETING);
  greeting.set_group(group);
  greeting.set_rank(rank_.value);

  MutexLock lock(&mutex_);
  next_ = std::move(next);
  outgoing_ = pass;
  outgoing_done_ = false;
  held_ = true;
  pass->AddHold();
  to_send_.push_back(rpc::EncodeFrame(std::move(greeting), {}));
  WriteMore();
  pass->StartRead(&pass->incoming);
  pass->StartCall();
  group_ = group;
  AcceptGreeted();
}

void RingLink::WriteMore() {
  if (outgoing_done_ || writing_ || !held_) return;
  if (!to_send_.empty()) {
    outgoing_->outgoing = std::move(to_send_.front());
    to_send_.pop_front();
    writing_ = true;
    return outgoing_->StartWrite(&outgoing_->outgoing);
  }
  if (!leaving_) return;
  held_ = false;
  outgoing_->StartWritesDone();
  outgoing_->RemoveHold();
}

void RingLink::OnSent(bool) {
  MutexLock lock(&mutex_);
  writing_ = false;  // where it failed, OnOutgoingDone says why
  WriteMore();
}

// The next rank says something only as its last word.
void RingLink::OnNextEnds(OutgoingPass& pass, bool ok) {
  const Result<rpc::Frame<PassEnd>> end = ok ? rpc::DecodeFrame<PassEnd>(pass.incoming) : Cancelled("no last word");
  MutexLock lock(&mutex_);
  if (end.ok()) next_gone_ = Gone{end->header.finished_operations(), ReasonOf(NameOfNext(), end->header.error())};
  CheckNeighbours();
  if (std::exchange(held_, false)) pass.RemoveHold();
}

void RingLink::OnOutgoingDone(const Status& status) {
  MutexLock lock(&mutex_);
  outgoing_done_ = true;
  outgoing_.reset();
  to_send_.clear();
  writing_ = false;
  if (!next_gone_.has_value()) {
    next_gone_ = Gone{0, Unavailable(NameOfNext() + " went away" + (status.ok() ? "" : ": " + status.message()))};
  }
  CheckNeighbours();
}

// --- operations

Status RingLink::AwaitPrevious(Deadline deadline) {
  MutexLock lock(&mutex_);
  mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return accepted_ || !death_.ok(); });
  if (death_.ok() && !accepted_) Die(DeadlineExceeded(NameOfPrevious() + " has not connected in time"));
  return death_.ok() ? Status() : ReportDeath();
}

Result<uint64_t> RingLink::BeginOperation() {
  MutexLock lock(&mutex_);
  if (reported_) return death_.While("the group of trainers is dead");
  ++operation_;
  CheckNeighbours();
  if (!death_.ok()) return ReportDeath();
  return operation_;
}

Status RingLink::ObstacleOf(uint64_t number) const {
  if (previous_gone_.has_value() && previous_gone_->finished < number) return previous_gone_->why;
  if (next_gone_.has_value() && next_gone_->finished < number) return next_gone_->why;
  return Status();
}

// Between operations nobody is missed yet.
void RingLink::CheckNeighbours() {
  const bool is_idle = operation_ == finished_ && accepted_;
  if (is_idle || leaving_) return;
  if (const Status obstacle = ObstacleOf(std::max<uint64_t>(1, operation_)); !obstacle.ok()) Die(obstacle);
}

void RingLink::EndOperation() {
  MutexLock lock(&mutex_);
  finished_ = operation_;
}

void RingLink::Send(grpc::ByteBuffer message) {
  MutexLock lock(&mutex_);
  if (!death_.ok() || outgoing_done_) return;
  to_send_.push_back(std::move(message));
  WriteMore();
}

Status RingLink::AwaitSent(size_t most, Deadline deadline) {
  MutexLock lock(&mutex_);
  const auto sent = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return to_send_.size() + (writing_ ? 1 : 0) <= most || !death_.ok();
  };
  if (!mutex_.AwaitBefore(deadline, sent)) Die(DeadlineExceeded(NameOfNext() + " took nothing in time"));
  return death_.ok() ? Status() : ReportDeath();
}

Result<ArrivedSegment> RingLink::Receive(Deadline deadline) {
  MutexLock lock(&mutex_);
  const auto news = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !waiting_.empty() || !death_.ok(); };
  if (!mutex_.AwaitBefore(deadline, news)) Die(DeadlineExceeded(NameOfPrevious() + " sent nothing in time"));
  if (!death_.ok()) return ReportDeath();
  ArrivedSegment segment = std::move(waiting_.front());
  waiting_.pop_front();
  ReadMore();
  return segment;
}

// --- the end

Status RingLink::Fail(const Status& why) {
  MutexLock lock(&mutex_);
  Die(why);
  return ReportDeath();
}

void RingLink::Die(const Status& why) {
  if (!death_.ok()) return;
  death_ = why;
  waiting_.clear();
  FinishAll();
  SayFarewell();
}

Status RingLink::ReportDeath() {
  if (!std::exchange(reported_, true)) {
    mutex_.AwaitBefore(Deadline::After(kTelling),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outgoing_done_ && passes_.empty(); });
  }
  return death_;
}

void RingLink::SayFarewell() {
  if (std::exchange(leaving_, true) || outgoing_done_) return;
  Segment farewell;
  farewell.set_kind(collective::v1::SEGMENT_KIND_FAREWELL);
  farewell.set_finished_operations(finished_);
  farewell.set_error(death_.message());
  to_send_.push_back(rpc::EncodeFrame(std::move(farewell), {}));
  WriteMore();
}

void RingLink::FinishAll() {
  const Status gone = Unavailable("trainer " + std::to_string(rank_.value) + " has left the group");
  for (IncomingPass* pass : passes_) {
    if (pass == previous_) {
      Finish(pass);
    } else {
      Refuse(pass, gone);
    }
  }
}

void RingLink::Abandon() {
  MutexLock lock(&mutex_);
  SayFarewell();
  FinishAll();
  if (death_.ok()) death_ = Unavailable("this trainer has left it");
  reported_ = true;  // whoever left needs no telling
}

void RingLink::Leave(Deadline deadline) {
  MutexLock lock(&mutex_);
  SayFarewell();
  mutex_.AwaitBefore(death_.ok() ? deadline : deadline.AtMost(kTelling),
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outgoing_done_; });
  if (outgoing_ != nullptr) outgoing_->context.TryCancel();
  FinishAll();
  // Cancelled and finished: both are a matter of moments.
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outgoing_done_ && passes_.empty(); });
}

}  // namespace espalier::client
