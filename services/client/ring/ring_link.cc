// Reactions and operations change the state under mutex_ and call gRPC's Start functions with the mutex held; gRPC
// never runs a reaction inside of them. The first error is kept in error_, ends both streams and is returned by every
// later operation. A neighbor that ends sends the number of its finished operations (a farewell segment to the next
// rank, a PassEnd to the previous one), so that an end after the last operation is not an error.
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
// How long a failed rank waits until its neighbors are notified, so that they do not continue an operation that has
// failed here.
constexpr std::chrono::milliseconds kNotifyTimeout(200);
// Segments that are read before an operation takes them; with more, the sender is blocked by flow control.
constexpr size_t kMaxReceived = 8;

Result<ArrivedSegment> Decode(const grpc::ByteBuffer& bytes) {
  ASSIGN_OR_RETURN(rpc::FrameReader reader, rpc::FrameReader::Open(bytes));
  Segment header;
  RETURN_IF_ERROR(reader.ReadHeader(&header));
  return ArrivedSegment{std::move(header), std::move(reader), bytes};
}

// Converts the error that a neighbor sent when it ended (empty if it left) to a status.
Status MakeEndStatus(const std::string& neighbor, const std::string& error) {
  if (error.empty()) return Unavailable(neighbor + " has left the group");
  return Unavailable(neighbor + " failed: " + ShortenMiddle(error, rpc::kMaxStatusMessageBytes));
}

}  // namespace

// A stream to this rank. Owns itself until OnDone.
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

// The stream to the next rank. Owns itself until OnDone.
class RingLink::OutgoingPass final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit OutgoingPass(std::shared_ptr<RingLink> link) : link_(std::move(link)) {}

  void OnWriteDone(bool ok) override { link_->OnSent(ok); }
  void OnReadDone(bool ok) override { link_->OnNextEnds(*this, ok); }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<OutgoingPass> keep_alive = std::move(self);
    link_->OnOutgoingDone(rpc::FromGrpc(status));
  }

  std::shared_ptr<OutgoingPass> self;
  grpc::ClientContext context;
  grpc::ByteBuffer incoming, outgoing;

 private:
  const std::shared_ptr<RingLink> link_;
};

std::string RingLink::PreviousName() const { return "trainer " + std::to_string((rank_.value + size_ - 1) % size_); }

std::string RingLink::NextName() const { return "trainer " + std::to_string((rank_.value + 1) % size_); }

// --- the stream from the previous rank

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* RingLink::AcceptStream() {
  auto* pass = new IncomingPass(shared_from_this());
  MutexLock lock(&mutex_);
  passes_.insert(pass);
  if (!error_.ok() || leaving_) {
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
    return HandleGreeting(pass, segment->header);
  }
  if (pass != previous_) return Refuse(pass, Aborted("replaced by a newer stream"));
  if (!segment.ok()) {
    // The stream has ended, with or without a farewell.
    if (!previous_end_.has_value()) previous_end_ = NeighborEnd{0, Unavailable(PreviousName() + " disconnected")};
    Finish(pass);
    return CheckNeighbors();
  }
  if (segment->header.kind() == collective::v1::SEGMENT_KIND_FAREWELL) {
    previous_end_ =
        NeighborEnd{segment->header.finished_operations(), MakeEndStatus(PreviousName(), segment->header.error())};
    CheckNeighbors();
  } else {
    received_.push_back(*std::move(segment));
  }
  ReadMore();
}

void RingLink::HandleGreeting(IncomingPass* pass, const Segment& greeting) {
  const uint32_t expected = (rank_.value + size_ - 1) % size_;
  if (greeting.kind() != collective::v1::SEGMENT_KIND_GREETING || greeting.rank() != expected || accepted_) {
    return Refuse(
        pass, InvalidArgument("greeting of trainer " + std::to_string(greeting.rank()) + " to trainer " +
                              std::to_string(rank_.value) + ", expected one of trainer " + std::to_string(expected)));
  }
  pass->greeted = true;
  if (greeted_ != nullptr) Refuse(greeted_, Aborted("replaced by a newer stream"));
  greeted_ = pass;
  greeted_group_ = greeting.group();
  AcceptGreeted();
}

void RingLink::AcceptGreeted() {
  if (greeted_ == nullptr || !group_.has_value()) return;
  IncomingPass* pass = std::exchange(greeted_, nullptr);
  if (greeted_group_ != *group_) return Refuse(pass, Aborted("the stream belongs to another group"));
  previous_ = pass;
  accepted_ = true;
  ReadMore();
}

void RingLink::ReadMore() {
  if (previous_ == nullptr || reading_ || received_.size() >= kMaxReceived) return;
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
  end.set_error(error_.message());
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
  pass->context.set_wait_for_ready(true);  // bounded by the caller's deadline, after which the call is cancelled
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
    outgoing_->outgoing = to_send_.front();
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
  writing_ = false;  // if the write failed, OnOutgoingDone gets the error
  WriteMore();
}

// The next rank sends one message, a PassEnd, when it ends.
void RingLink::OnNextEnds(OutgoingPass& pass, bool ok) {
  const Result<rpc::Frame<PassEnd>> end = ok ? rpc::DecodeFrame<PassEnd>(pass.incoming) : Cancelled("no PassEnd");
  MutexLock lock(&mutex_);
  if (end.ok()) {
    next_end_ = NeighborEnd{end->header.finished_operations(), MakeEndStatus(NextName(), end->header.error())};
  }
  CheckNeighbors();
  if (std::exchange(held_, false)) pass.RemoveHold();
}

void RingLink::OnOutgoingDone(const Status& status) {
  MutexLock lock(&mutex_);
  outgoing_done_ = true;
  outgoing_.reset();
  to_send_.clear();
  writing_ = false;
  if (!next_end_.has_value()) {
    next_end_ =
        NeighborEnd{0, Unavailable(NextName() + " disconnected" + (status.ok() ? "" : ": " + status.message()))};
  }
  CheckNeighbors();
}

// --- operations

Status RingLink::AwaitPrevious(Deadline deadline) {
  MutexLock lock(&mutex_);
  mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return accepted_ || !error_.ok(); });
  if (error_.ok() && !accepted_) SetError(DeadlineExceeded(PreviousName() + " did not connect before the deadline"));
  return error_.ok() ? Status() : ReportError();
}

Result<uint64_t> RingLink::BeginOperation() {
  MutexLock lock(&mutex_);
  if (reported_) return error_.While("the process group has failed");
  ++operation_;
  CheckNeighbors();
  if (!error_.ok()) return ReportError();
  return operation_;
}

Status RingLink::ErrorFor(uint64_t number) const {
  if (previous_end_.has_value() && previous_end_->finished < number) return previous_end_->why;
  if (next_end_.has_value() && next_end_->finished < number) return next_end_->why;
  return Status();
}

// Between operations the end of a neighbor is not an error yet.
void RingLink::CheckNeighbors() {
  const bool is_idle = operation_ == finished_ && accepted_;
  if (is_idle || leaving_) return;
  if (const Status error = ErrorFor(std::max<uint64_t>(1, operation_)); !error.ok()) SetError(error);
}

void RingLink::EndOperation() {
  MutexLock lock(&mutex_);
  finished_ = operation_;
}

void RingLink::Send(grpc::ByteBuffer message) {
  MutexLock lock(&mutex_);
  if (!error_.ok() || outgoing_done_) return;
  to_send_.push_back(std::move(message));
  WriteMore();
}

Status RingLink::WaitUntilSent(size_t most, Deadline deadline) {
  MutexLock lock(&mutex_);
  const auto sent = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return to_send_.size() + (writing_ ? 1 : 0) <= most || !error_.ok();
  };
  if (!mutex_.AwaitBefore(deadline, sent)) {
    SetError(DeadlineExceeded(NextName() + " received nothing before the deadline"));
  }
  return error_.ok() ? Status() : ReportError();
}

Result<ArrivedSegment> RingLink::Receive(Deadline deadline) {
  MutexLock lock(&mutex_);
  const auto has_news = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !received_.empty() || !error_.ok(); };
  if (!mutex_.AwaitBefore(deadline, has_news)) {
    SetError(DeadlineExceeded(PreviousName() + " sent nothing before the deadline"));
  }
  if (!error_.ok()) return ReportError();
  ArrivedSegment segment = std::move(received_.front());
  received_.pop_front();
  ReadMore();
  return segment;
}

// --- the end

Status RingLink::Fail(const Status& why) {
  MutexLock lock(&mutex_);
  SetError(why);
  return ReportError();
}

void RingLink::SetError(const Status& why) {
  if (!error_.ok()) return;
  error_ = why;
  received_.clear();
  FinishAll();
  QueueFarewell();
}

Status RingLink::ReportError() {
  if (!std::exchange(reported_, true)) {
    mutex_.AwaitBefore(Deadline::After(kNotifyTimeout),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outgoing_done_ && passes_.empty(); });
  }
  return error_;
}

void RingLink::QueueFarewell() {
  if (std::exchange(leaving_, true) || outgoing_done_) return;
  Segment farewell;
  farewell.set_kind(collective::v1::SEGMENT_KIND_FAREWELL);
  farewell.set_finished_operations(finished_);
  farewell.set_error(error_.message());
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
  QueueFarewell();
  FinishAll();
  if (error_.ok()) error_ = Unavailable("this trainer has left the group");
  reported_ = true;
}

void RingLink::Leave(Deadline deadline) {
  MutexLock lock(&mutex_);
  QueueFarewell();
  mutex_.AwaitBefore(error_.ok() ? deadline : deadline.AtMost(kNotifyTimeout),
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outgoing_done_; });
  if (outgoing_ != nullptr) outgoing_->context.TryCancel();
  FinishAll();
  // The streams are cancelled or finished, so this wait is short.
  mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return outgoing_done_ && passes_.empty(); });
}

}  // namespace espalier::client
