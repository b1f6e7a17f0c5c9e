// Links of one trainer to its neighbors in the ring: the connection from the previous rank and the connection to the
// next rank (proto/espalier/collective/v1/ring.proto).
//
//   previous rank == segments ==> ReceiveHeader, ReceivePayload
//                                             Send, Flush == segments ==> next rank
//
// The thread that calls the operations moves the bytes: between operations, what arrives waits in the kernel. An error
// ends both connections and thereby propagates around the ring. Messages that were sent before arrive before it. A rank
// that leaves sends the number of operations that it has finished; its neighbors can finish these too.
#pragma once

#include <atomic>
#include <deque>
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
  // `host_timeout`: how long the host of the next rank may answer nothing. ResourceExhausted: the process has no
  // descriptors left.
  static Result<std::unique_ptr<RingLink>> Make(Rank rank, uint32_t size, std::chrono::milliseconds host_timeout);

  Rank rank() const { return rank_; }
  uint32_t size() const { return size_; }

  // Takes a connection that was greeted, unless it returns an error: the greeting is not of the previous rank, or the
  // connection of the previous rank is accepted.
  Status Offer(const collective::v1::Greeting& greeting, RingSocket& socket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Greets the next rank over a connection to it.
  Status Connect(uint64_t group, RingSocket next, const Deadline& deadline);
  // Blocks until the previous rank has connected with the number of the group. To be called after Connect.
  Status AwaitPrevious(uint64_t group, const RingWait& wait) ABSL_LOCKS_EXCLUDED(mutex_);

  // Begins an operation and returns its number, from 1. After a failure of the group: its error.
  Result<uint64_t> BeginOperation();
  // Ends an operation that has sent everything (Flush).
  void EndOperation();
  // Queues a segment for the next rank; does not block. The payload must be valid and unchanged until it is sent.
  void Send(const FrameHeader& header, std::span<const std::byte> payload);
  // Blocks until the header of the next segment of the previous rank has arrived. Sends meanwhile, as the next two.
  Result<FrameHeader> ReceiveHeader(const Deadline& deadline);
  // Blocks until the payload of that segment has arrived.
  Status ReceivePayload(std::span<std::byte> payload, const Deadline& deadline);
  // Blocks until at most `most` queued segments are unsent.
  Status Flush(size_t most, const Deadline& deadline);
  // Fails the group with an error of this rank. Returns the error of the group, which may be an earlier one.
  Status Fail(const Status& why);

  // Fails the operation under way, and every later one, with Unavailable: this rank has left. Does not block.
  void Interrupt();
  // Leaves the group: sent messages still arrive, the other ranks are notified, and every further operation of this
  // rank fails. Does not block.
  void Abandon();
  // Leaves the group and blocks until sent messages have arrived at the hosts of the neighbors. Idempotent.
  void Leave(const Deadline& deadline);

 private:
  RingLink(Rank rank, uint32_t size, std::chrono::milliseconds host_timeout, RingWaker offered, RingWaker interrupted);

  struct Segment {
    FrameHeaderBytes header;
    std::span<const std::byte> payload;
    size_t num_sent = 0;  // of both
    bool is_begun = false;
  };
  // The end of the next rank.
  struct NeighborEnd {
    uint64_t finished = 0;  // operations that it has finished
    Status why;
  };
  struct Greeted {
    uint64_t group = 0;
    RingSocket socket;
  };

  // Moves bytes until `receive`, which receives from the previous rank what has arrived and sets `*moved` if that is
  // something, returns true. `waits_for_previous`: whether it waits for the previous rank.
  template <class Receive>
  Status Drive(const Deadline& deadline, bool waits_for_previous, Receive receive);
  // Sends what can be sent at once; returns whether something was.
  bool SendQueued();
  // Returns whether it is complete. Unavailable: the previous rank has ended.
  Result<bool> ReceiveSegmentHeader();
  // Receives what the next rank sends when it ends.
  void ReceiveNextEnd();
  void OnNextDisconnects(const Status& why);
  bool TakeGreeted(uint64_t group) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnNextEnds(uint64_t finished, const Status& why);
  void CheckNext();
  Status TimedOut(const Status& ended, bool waits_for_previous) const;
  void SetError(const Status& why);
  // Notifies the neighbors of the error, the first time, and returns it.
  Status ReportError();
  void QueueEnds();
  void FlushEnds(const Deadline& deadline);
  std::string PreviousName() const;
  std::string NextName() const;

  const Rank rank_;
  const uint32_t size_;
  const std::chrono::milliseconds host_timeout_;

  uint64_t operation_ = 0;  // begun last
  uint64_t finished_ = 0;   // finished last
  Status error_;
  bool reported_ = false;
  bool ended_ = false;  // the ends of this rank are queued

  RingSocket previous_, next_;
  FrameReceiver from_previous_, from_next_;
  std::deque<Segment> to_send_;
  std::string end_to_next_, end_to_previous_;  // queued behind to_send_
  std::optional<NeighborEnd> next_end_;

  const RingWaker offered_;      // wakes AwaitPrevious
  const RingWaker interrupted_;  // wakes Drive
  std::atomic<bool> is_interrupted_ = false;
  Mutex mutex_;
  bool accepts_ ABSL_GUARDED_BY(mutex_) = true;  // connections of the previous rank
  std::deque<Greeted> greeted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::client
