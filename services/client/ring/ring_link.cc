// Drive alternates between sending and receiving and waits when neither is possible. Receiving needs only the memory of
// the operation, so a rank never stops receiving because it cannot send, and the ring cannot deadlock. The first error
// is kept in error_, ends both connections and is returned by every later operation.
//
// Streams are ordered: if the previous rank ends after an operation, this rank receives all segments of the operation
// before the End message. The next rank, however, may end after its last operation while this rank is still in that
// operation. The End message of the next rank has the number of operations that it has finished; CheckNext reports an
// error only if the current operation is not among them.
#include "services/client/ring/ring_link.h"

#include <algorithm>
#include <utility>

#include "services/base/shorten.h"
#include "services/client/ring/ring_host_watch.h"
#include "services/rpc/status_map.h"

namespace espalier::client {
namespace {

using collective::v1::End;
using collective::v1::Greeting;

// How long a failed rank tries to notify its neighbors, so that they do not continue an operation that has failed here.
constexpr std::chrono::milliseconds kNotifyTimeout(200);
constexpr size_t kMaxEndBytes = 2 * rpc::kMaxStatusMessageBytes;
// Limit of the payload bytes that Drive sends or receives at a time: small enough that, if neighbors share a host, the
// bytes of both directions stay in the processor's cache until they are received.
constexpr size_t kPieceBytes = size_t{256} << 10;
// PollUntil polls without a pause for this time, because short operations end within it.
constexpr double kBusyPollSeconds = 0.001;
constexpr std::chrono::nanoseconds kPollInterval = std::chrono::milliseconds(1);
// Largest number of greeted connections that wait for AwaitPrevious. With TLS one is enough. Without TLS, processes
// that are not ranks of the group can send greetings too.
constexpr size_t kMaxGreeted = 8;

// Converts the error text in a neighbor's End message to a status. Empty: the neighbor left without an error.
Status MakeEndStatus(const std::string& neighbor, const std::string& error) {
  if (error.empty()) return Unavailable(neighbor + " has left the group");
  return Unavailable(neighbor + " failed: " + ShortenMiddle(error, rpc::kMaxStatusMessageBytes));
}

Status LeftGroupError() { return Unavailable("this trainer has left the group"); }

}  // namespace

Result<std::unique_ptr<RingLink>> RingLink::Make(Rank rank, uint32_t size, std::chrono::milliseconds host_timeout) {
  ASSIGN_OR_RETURN(RingWaker offered, RingWaker::Make());
  ASSIGN_OR_RETURN(RingWaker interrupted, RingWaker::Make());
  return std::unique_ptr<RingLink>(new RingLink(rank, size, host_timeout, std::move(offered), std::move(interrupted)));
}

RingLink::RingLink(Rank rank, uint32_t size, std::chrono::milliseconds host_timeout, RingWaker offered,
                   RingWaker interrupted)
    : rank_(rank),
      size_(size),
      host_timeout_(host_timeout),
      from_previous_(kMaxEndBytes),
      from_next_(kMaxEndBytes),
      offered_(std::move(offered)),
      interrupted_(std::move(interrupted)) {}

std::string RingLink::PreviousName() const { return "trainer " + std::to_string((rank_.value + size_ - 1) % size_); }

std::string RingLink::NextName() const { return "trainer " + std::to_string((rank_.value + 1) % size_); }

// --- connections

Status RingLink::Offer(const Greeting& greeting, RingSocket& socket) {
  const uint32_t expected = (rank_.value + size_ - 1) % size_;
  if (greeting.rank() != expected) {
    return InvalidArgument("trainer " + std::to_string(rank_.value) + " received the greeting of trainer " +
                           std::to_string(greeting.rank()) + ", expected trainer " + std::to_string(expected));
  }
  MutexLock lock(&mutex_);
  if (!accepts_) {
    return Unavailable("trainer " + std::to_string(rank_.value) + " already has a connection of trainer " +
                       std::to_string(expected) + " or is leaving the group");
  }
  if (greeted_.size() == kMaxGreeted) greeted_.pop_back();
  greeted_.push_front({greeting.group(), std::move(socket)});
  offered_.Wake();
  return Status();
}

Status RingLink::Connect(uint64_t group, RingSocket next, const Deadline& deadline) {
  Greeting greeting;
  greeting.set_group(group);
  greeting.set_rank(rank_.value);
  next_ = std::move(next);
  const Status sent = SendAll(next_, EncodeMessageFrame(FrameKind::kGreeting, greeting), RingWait(deadline));
  return sent.ok() ? sent : Fail(sent.While("greeting " + NextName()));
}

// Newer connections come first in greeted_: the previous rank may have connected again.
bool RingLink::AcceptGreeted(uint64_t group) {
  MutexLock lock(&mutex_);
  const auto of_group =
      std::find_if(greeted_.begin(), greeted_.end(), [&](const Greeted& greeted) { return greeted.group == group; });
  const bool found = of_group != greeted_.end();
  if (found) {
    previous_ = std::move(of_group->socket);
    accepts_ = false;
  }
  greeted_.clear();
  return found;
}

Status RingLink::AwaitPrevious(uint64_t group, const RingWait& wait) {
  while (error_.ok()) {
    offered_.Reset();
    if (AcceptGreeted(group)) return Status();
    pollfd events[] = {{.fd = offered_.descriptor(), .events = POLLIN, .revents = 0},
                       {.fd = next_.descriptor(), .events = next_.read_events(), .revents = 0}};
    if (const Status ready = wait.Poll(events); !ready.ok()) {
      return Fail(Status(ready.code(), PreviousName() + " did not connect: " + ready.message()));
    }
    if (events[1].revents != 0) ReceiveNextEnd();
    if (next_end_.has_value()) SetError(next_end_->why);
  }
  return ReportError();
}

// --- bytes

bool RingLink::SendQueued() {
  if (to_send_.empty()) return false;
  if (!next_.is_open()) {
    to_send_.clear();  // the next rank has finished this operation; otherwise CheckNext sets the error
    return true;
  }
  Segment& segment = to_send_.front();
  segment.is_begun = true;
  const size_t header_sent = std::min(segment.num_sent, kFrameHeaderBytes);
  const std::span<const std::byte> body = segment.payload.subspan(segment.num_sent - header_sent);
  const Result<size_t> sent =
      next_.Write(std::span(segment.header).subspan(header_sent), body.first(std::min(body.size(), kPieceBytes)));
  if (!sent.ok()) {
    // The next rank may have sent an End message before it closed the connection.
    ReceiveNextEnd();
    if (!next_end_.has_value()) OnNextDisconnects(sent.status());
    return true;
  }
  segment.num_sent += *sent;
  if (segment.num_sent == kFrameHeaderBytes + segment.payload.size()) to_send_.pop_front();
  return *sent > 0;
}

void RingLink::ReceiveNextEnd() {
  const Result<bool> complete = from_next_.Receive(next_);
  if (complete.ok() && !*complete) return;
  End end;
  const Status parsed = complete.ok() ? from_next_.ParseMessage(FrameKind::kEnd, &end) : complete.status();
  if (parsed.ok()) {
    OnNextEnds(end.finished_operations(), MakeEndStatus(NextName(), end.error()));
  } else {
    OnNextDisconnects(parsed);
  }
}

void RingLink::OnNextDisconnects(const Status& why) {
  OnNextEnds(0, Unavailable(NextName() + " disconnected: " + why.message()));
}

void RingLink::OnNextEnds(uint64_t finished, const Status& why) {
  next_end_ = NextRankEnd{finished, why};
  next_.Close();
}

void RingLink::CheckNext() {
  if (next_end_.has_value() && next_end_->finished < operation_) SetError(next_end_->why);
}

template <class Receive>
Status RingLink::Drive(const Deadline& deadline, bool waits_for_previous, Receive receive, bool polls) {
  const RingWait wait(deadline);
  const Timer since_begin;
  RingHostWatch next_host(host_timeout_);
  for (;;) {
    CheckNext();
    if (is_interrupted_) SetError(LeftGroupError());
    if (!error_.ok()) return ReportError();
    bool moved = SendQueued();
    const Result<bool> done = receive(&moved);
    if (!done.ok()) {
      SetError(done.status());
      return ReportError();
    }
    if (*done) return Status();
    if (moved) continue;
    pollfd events[] = {
        {.fd = waits_for_previous ? previous_.descriptor() : -1, .events = previous_.read_events(), .revents = 0},
        {.fd = next_.descriptor(),
         .events = static_cast<short>(next_.read_events() | (to_send_.empty() ? 0 : next_.write_events())),
         .revents = 0},
        {.fd = interrupted_.descriptor(), .events = POLLIN, .revents = 0}};
    const bool waits_for_next = !to_send_.empty();
    std::optional<std::chrono::nanoseconds> max_wait;
    if (waits_for_next) max_wait = next_host.interval();
    if (polls) max_wait = since_begin.Seconds() < kBusyPollSeconds ? std::chrono::nanoseconds(0) : kPollInterval;
    if (const Status ready = wait.Poll(events, max_wait); !ready.ok()) {
      const bool is_poll_timeout = polls && ready.code() == StatusCode::kDeadlineExceeded;
      SetError(is_poll_timeout ? DeadlineExceeded("the awaited operation did not end before the deadline")
                               : ToTimeoutError(ready, waits_for_previous));
      return ReportError();
    }
    if ((events[1].revents & (next_.read_events() | POLLERR | POLLHUP)) != 0) ReceiveNextEnd();
    if (!waits_for_next || next_end_.has_value()) continue;
    if (const Status host = next_host.Check(next_.descriptor()); !host.ok()) OnNextDisconnects(host);
  }
}

Status RingLink::ToTimeoutError(const Status& ended, bool waits_for_previous) const {
  if (ended.code() != StatusCode::kDeadlineExceeded) return ended;
  return DeadlineExceeded(waits_for_previous ? PreviousName() + " did not send its data before the deadline"
                                             : NextName() + " did not receive the data before the deadline");
}

// --- operations

Result<uint64_t> RingLink::BeginOperation() {
  if (reported_) return error_.While("the process group has failed");
  ++operation_;
  if (next_.is_open()) ReceiveNextEnd();
  CheckNext();
  if (!error_.ok()) return ReportError();
  return operation_;
}

void RingLink::EndOperation() { finished_ = operation_; }

void RingLink::Send(const FrameHeader& header, std::span<const std::byte> payload) {
  to_send_.push_back({EncodeFrameHeader(header), payload});
}

Result<bool> RingLink::ReceiveSegmentHeader() {
  const Result<bool> complete = from_previous_.Receive(previous_);
  if (!complete.ok()) return Unavailable(PreviousName() + " disconnected: " + complete.status().message());
  if (!*complete || from_previous_.header().IsSegment()) return complete;
  End end;
  RETURN_IF_ERROR(from_previous_.ParseMessage(FrameKind::kEnd, &end).While(PreviousName()));
  return MakeEndStatus(PreviousName(), end.error());
}

Result<FrameHeader> RingLink::ReceiveHeader(const Deadline& deadline) {
  from_previous_.Reset();
  RETURN_IF_ERROR(Drive(deadline, /*waits_for_previous=*/true, [&](bool*) { return ReceiveSegmentHeader(); }));
  return from_previous_.header();
}

Status RingLink::ReceivePayload(std::span<std::byte> payload, const Deadline& deadline) {
  return Drive(deadline, /*waits_for_previous=*/true, [&](bool* moved) -> Result<bool> {
    if (payload.empty()) return true;
    const Result<size_t> received = previous_.Read(payload.first(std::min(payload.size(), kPieceBytes)));
    if (!received.ok()) return Unavailable(PreviousName() + " disconnected: " + received.status().message());
    payload = payload.subspan(*received);
    if (*received > 0) *moved = true;
    return payload.empty();
  });
}

Status RingLink::Flush(size_t max_unsent, const Deadline& deadline) {
  return Drive(deadline, /*waits_for_previous=*/false,
               [&](bool*) -> Result<bool> { return to_send_.size() <= max_unsent; });
}

Status RingLink::PollUntil(const std::function<Result<bool>()>& is_done, const Deadline& deadline) {
  return Drive(
      deadline, /*waits_for_previous=*/false, [&](bool*) { return is_done(); }, /*polls=*/true);
}

// --- errors and leaving

Status RingLink::Fail(const Status& why) {
  SetError(why);
  return ReportError();
}

void RingLink::SetError(const Status& why) {
  if (error_.ok()) error_ = why;
}

Status RingLink::ReportError() {
  if (std::exchange(reported_, true)) return error_;
  QueueEnds();
  FlushEnds(Deadline::After(kNotifyTimeout));
  // The payloads of unsent segments become invalid when the operation returns.
  if (!std::exchange(to_send_, {}).empty()) next_.Close();
  return error_;
}

// Drops the queued segments, except a segment that may be partly sent: the rest of it must precede the End message.
void RingLink::QueueEnds() {
  if (std::exchange(ended_, true)) return;
  {
    MutexLock lock(&mutex_);
    accepts_ = false;
    greeted_.clear();
  }
  to_send_.resize(!to_send_.empty() && to_send_.front().is_begun ? 1 : 0);
  End end;
  end.set_finished_operations(finished_);
  end.set_error(ShortenMiddle(error_.message(), rpc::kMaxStatusMessageBytes));
  end.set_code(static_cast<uint32_t>(error_.code()));
  end_to_next_ = end_to_previous_ = EncodeMessageFrame(FrameKind::kEnd, end);
}

void RingLink::FlushEnds(const Deadline& deadline) {
  const RingWait wait(deadline);
  const auto send_end = [&](RingSocket& socket, std::string& end) {
    if (end.empty() || !socket.is_open()) return;
    // An error is ignored: the neighbor detects the end of the connection and fails if it still needs this rank.
    [[maybe_unused]] const Status sent = SendAll(socket, std::exchange(end, ""), wait);
    socket.FinishWriting();
  };
  send_end(previous_, end_to_previous_);
  while (!to_send_.empty() && next_.is_open()) {
    if (SendQueued()) continue;
    pollfd events{.fd = next_.descriptor(), .events = next_.write_events(), .revents = 0};
    if (!wait.Poll({&events, 1}).ok()) return;
  }
  send_end(next_, end_to_next_);
}

void RingLink::Interrupt() {
  is_interrupted_ = true;
  interrupted_.Wake();
}

void RingLink::Abandon() {
  QueueEnds();
  FlushEnds(Deadline::After(std::chrono::seconds(0)));
  if (error_.ok()) error_ = LeftGroupError();
  reported_ = true;
}

void RingLink::Leave(const Deadline& deadline) {
  const Deadline end = error_.ok() ? deadline : Deadline::After(std::chrono::seconds(0));
  QueueEnds();
  FlushEnds(end);
  previous_.CloseAfterArrival(end.Remaining());
  next_.CloseAfterArrival(end.Remaining());
}

}  // namespace espalier::client
