// Links of one rank to its neighbors in the ring: the connection from the previous rank and the connection to the next
// rank (proto/espalier/collective/v1/ring.proto).
//
//   previous rank == segments ==> ReceiveHeader, ReceivePayload
//                                             Send, Flush == segments ==> next rank
//
// There is no background thread: the thread that runs a collective operation sends and receives. Between operations,
// received bytes stay in the kernel. An error ends both connections and thereby propagates around the ring; messages
// that were sent before the error still arrive. A rank that leaves sends the number of operations that it has finished,
// so that its neighbors can finish these operations too.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "espalier/collective/v1/ring.pb.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/client/ring/ring_frame.h"
#include "services/client/ring/ring_socket.h"
#include "services/graph/ids.h"

namespace espalier::client {

// Offer and Interrupt are thread-safe. The other functions are called by one thread at a time.
class RingLink {
 public:
  // Creates a link without connections. `host_timeout` is RingOptions::host_timeout. ResourceExhausted: the process has
  // no descriptors left.
  static Result<std::unique_ptr<RingLink>> Make(Rank rank, uint32_t size, std::chrono::milliseconds host_timeout);

  Rank rank() const { return rank_; }
  uint32_t size() const { return size_; }

  // Takes over `socket`, the connection over which `greeting` was received, for AwaitPrevious; after an error `socket`
  // is unchanged. InvalidArgument: the greeting is not from the previous rank. Unavailable: this rank already has a
  // connection of the previous rank, or is leaving the group.
  Status Offer(const collective::v1::Greeting& greeting, RingSocket& socket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes over the connection to the next rank and sends a greeting with the group number.
  Status Connect(uint64_t group, RingSocket next, const Deadline& deadline);
  // Blocks until the previous rank has connected with this group number. Call it after Connect.
  Status AwaitPrevious(uint64_t group, const RingWait& wait) ABSL_LOCKS_EXCLUDED(mutex_);

  // Begins an operation and returns its number, counted from 1. If the group has failed, returns its error.
  Result<uint64_t> BeginOperation();
  // Ends the current operation, all of whose segments must have been sent (Flush).
  void EndOperation();
  // Queues a segment for the next rank; does not block. The payload must be valid and unchanged until it is sent.
  void Send(const FrameHeader& header, std::span<const std::byte> payload);
  // Blocks until the header of the next segment of the previous rank has arrived. ReceiveHeader, ReceivePayload, Flush
  // and PollUntil send queued segments while they wait.
  Result<FrameHeader> ReceiveHeader(const Deadline& deadline);
  // Receives the payload of the segment whose header ReceiveHeader returned; blocks until it is complete. The size of
  // `payload` must be FrameHeader::payload_bytes of that header.
  Status ReceivePayload(std::span<std::byte> payload, const Deadline& deadline);
  // Blocks until at most `max_unsent` queued segments are unsent.
  Status Flush(size_t max_unsent, const Deadline& deadline);
  // Blocks until `is_done`, which must not block, returns true or an error. Calls it without a pause for the first
  // millisecond, then about once a millisecond. Returns an error if the next rank leaves, fails or disconnects before
  // it has finished this operation. If one rank fails while all ranks wait in PollUntil, the error therefore propagates
  // from rank to rank until every rank has returned.
  Status PollUntil(const std::function<Result<bool>()>& is_done, const Deadline& deadline);
  // Fails the group with an error of this rank. Returns the error of the group, which may be an earlier one.
  Status Fail(const Status& why);

  // Makes the current operation, and every later one, fail with Unavailable (this rank has left). Does not block.
  void Interrupt();
  // Leaves the group: sent messages still arrive, the other ranks are notified, and every further operation of this
  // rank fails. Does not block.
  void Abandon();
  // Leaves the group. Unless the group has failed, blocks until sent messages have arrived at the hosts of the
  // neighbors. Idempotent.
  void Leave(const Deadline& deadline);

 private:
  RingLink(Rank rank, uint32_t size, std::chrono::milliseconds host_timeout, RingWaker offered, RingWaker interrupted);

  struct Segment {
    FrameHeaderBytes header;
    std::span<const std::byte> payload;
    size_t num_sent = 0;    // bytes of header and payload
    bool is_begun = false;  // some bytes may have been sent
  };
  // The next rank has left, failed or disconnected.
  struct NextRankEnd {
    uint64_t finished = 0;  // number of operations that it has finished
    Status why;
  };
  // A connection over which a greeting has arrived, with the group number of the greeting.
  struct Greeted {
    uint64_t group = 0;
    RingSocket socket;
  };

  // Sends queued segments and calls receive(bool* moved) until it returns true or an error. `receive` must not block.
  // It sets `*moved` if it has received bytes of the previous rank and there may be more; Drive then calls it again
  // without waiting. `waits_for_previous`: whether `receive` needs bytes of the previous rank; otherwise Drive waits
  // only for the next rank. `polls`: `receive` is also called at regular intervals, without an event.
  template <class Receive>
  Status Drive(const Deadline& deadline, bool waits_for_previous, Receive receive, bool polls = false);
  // Sends a part of the first queued segment without blocking. Returns false if nothing is queued, or if nothing can be
  // sent now.
  bool SendQueued();
  // Returns whether the header is complete. Unavailable: the previous rank has disconnected, left or failed.
  Result<bool> ReceiveSegmentHeader();
  // Receives the End message of the next rank, or detects its disconnection. Does not block.
  void ReceiveNextEnd();
  void OnNextDisconnects(const Status& why);
  // Makes the newest connection of this group the connection from the previous rank. Returns false if there is none.
  bool AcceptGreeted(uint64_t group) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnNextEnds(uint64_t finished, const Status& why);
  // Sets the error if the next rank has ended before it finished the current operation.
  void CheckNext();
  // Names, in a DeadlineExceeded error, the neighbor that did not respond. Other errors are unchanged.
  Status ToTimeoutError(const Status& ended, bool waits_for_previous) const;
  void SetError(const Status& why);
  // Returns the error of the group. The first call also notifies the neighbors of it.
  Status ReportError();
  // Encodes the End messages of this rank, once. Drops the queued segments, except a begun segment.
  void QueueEnds();
  // Sends the End message to the previous rank, then the rest of a begun segment and the End message to the next rank.
  // Ends the sending direction of both connections.
  void FlushEnds(const Deadline& deadline);
  std::string PreviousName() const;
  std::string NextName() const;

  const Rank rank_;
  const uint32_t size_;
  const std::chrono::milliseconds host_timeout_;

  uint64_t operation_ = 0;  // number of the operation that was begun last
  uint64_t finished_ = 0;   // number of the operation that was finished last
  Status error_;            // the first error of the group
  bool reported_ = false;   // ReportError was called, or the group was abandoned
  bool ended_ = false;      // the End messages of this rank are queued

  RingSocket previous_, next_;
  FrameReceiver from_previous_, from_next_;
  std::deque<Segment> to_send_;
  std::string end_to_next_, end_to_previous_;  // encoded End messages; end_to_next_ is sent after to_send_
  std::optional<NextRankEnd> next_end_;

  const RingWaker offered_;      // wakes AwaitPrevious
  const RingWaker interrupted_;  // wakes Drive
  std::atomic<bool> is_interrupted_ = false;
  Mutex mutex_;
  bool accepts_ ABSL_GUARDED_BY(mutex_) = true;  // whether Offer accepts a connection
  std::deque<Greeted> greeted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::client
