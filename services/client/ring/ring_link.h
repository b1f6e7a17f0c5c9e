// Links of one trainer to its neighbors in the ring: the incoming stream from the previous rank and the outgoing stream
// to the next rank (proto/espalier/collective/v1/ring.proto).
//
//   previous rank ==> IncomingPass --> received_ --> Receive
//                             Send --> to_send_ --> OutgoingPass ==> next rank
//
// An error ends both streams and thereby propagates around the ring. Messages that were sent before arrive before it.
// A rank that ends a stream sends the number of operations that it has finished; its neighbors can finish these too.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "espalier/collective/v1/ring.pb.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/graph/ids.h"
#include "services/rpc/channel.h"
#include "services/rpc/frame.h"

namespace espalier::client {

// A received segment; `bytes` is the whole message, which is forwarded unchanged.
struct ArrivedSegment {
  collective::v1::Segment header;
  rpc::FrameReader payload;  // positioned after the header
  grpc::ByteBuffer bytes;
};

// Thread-safe. The reactions run on gRPC's threads; operations are called by one thread.
class RingLink : public std::enable_shared_from_this<RingLink> {
 public:
  RingLink(Rank rank, uint32_t size) : rank_(rank), size_(size) {}

  Rank rank() const { return rank_; }
  uint32_t size() const { return size_; }

  // Returns the reactor of a new stream to this rank. The stream is used if its first message, the greeting, identifies
  // the previous rank.
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AcceptStream();
  // Opens the stream to the next rank and accepts the stream of the previous rank with the same group number. To be
  // called after all ranks have joined.
  void Connect(uint64_t group, std::shared_ptr<rpc::Peer> next) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until the stream of the previous rank is accepted.
  Status AwaitPrevious(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

  // Begins an operation and returns its number, from 1. After a failure of the group: its error.
  Result<uint64_t> BeginOperation() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndOperation() ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues a message for the next rank; does not block.
  void Send(grpc::ByteBuffer message) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until at most `most` messages are queued.
  Status WaitUntilSent(size_t most, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until a segment of the previous rank has arrived.
  Result<ArrivedSegment> Receive(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Fails the group with an error of this rank. Returns the error of the group, which may be an earlier one.
  Status Fail(const Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // Leaves the group: sent messages still arrive, the other ranks are notified, and every further operation of this
  // rank fails. Does not block.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);
  // Leaves the group and blocks until sent messages have arrived, the other ranks are notified, and all streams are
  // done. No reaction runs afterwards.
  void Leave(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class IncomingPass;
  class OutgoingPass;
  // End of a neighbor.
  struct NeighborEnd {
    uint64_t finished = 0;  // operations that it has finished
    Status why;
  };

  // Reactions.
  void OnArrived(IncomingPass* pass, bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnIncomingDone(IncomingPass* pass) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnSent(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnNextEnds(OutgoingPass& pass, bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnOutgoingDone(const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  void HandleGreeting(IncomingPass* pass, const collective::v1::Segment& greeting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AcceptGreeted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(IncomingPass* pass, const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(IncomingPass* pass) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns why operation `number` cannot proceed, or OK.
  Status ErrorFor(uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckNeighbors() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void QueueFarewell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetError(const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReportError() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string PreviousName() const;
  std::string NextName() const;

  const Rank rank_;
  const uint32_t size_;

  Mutex mutex_;
  std::optional<uint64_t> group_ ABSL_GUARDED_BY(mutex_);
  uint64_t operation_ ABSL_GUARDED_BY(mutex_) = 0;  // begun last
  uint64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;   // finished last
  Status error_ ABSL_GUARDED_BY(mutex_);
  bool reported_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;

  IncomingPass* greeted_ ABSL_GUARDED_BY(mutex_) = nullptr;  // waits until the group is known
  uint64_t greeted_group_ ABSL_GUARDED_BY(mutex_) = 0;
  IncomingPass* previous_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null before it is accepted and after its end
  bool accepted_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<NeighborEnd> previous_end_ ABSL_GUARDED_BY(mutex_);
  std::deque<ArrivedSegment> received_ ABSL_GUARDED_BY(mutex_);
  std::set<IncomingPass*> passes_ ABSL_GUARDED_BY(mutex_);  // all streams to this rank until OnDone

  std::shared_ptr<rpc::Peer> next_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<OutgoingPass> outgoing_ ABSL_GUARDED_BY(mutex_);
  bool outgoing_done_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;  // keeps gRPC from finishing the call between two writes
  std::optional<NeighborEnd> next_end_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> to_send_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::client
