// One trainer's place in the ring: the stream that arrives from the previous rank and the one that leaves for the
// next (proto/espalier/collective/v1/ring.proto).
//
//   previous rank ==> IncomingPass --> waiting_ --> Receive
//                             Send --> to_send_ --> OutgoingPass ==> next rank
//
// An error ends both streams: so it travels around the ring. What was sent before arrives before it, and whoever ends
// says how many operations it has finished: up to there its neighbours go on without it.
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

// A segment as it arrived; `bytes` is the whole message, to be passed on as it is.
struct ArrivedSegment {
  collective::v1::Segment header;
  rpc::FrameReader payload;  // positioned behind the header
  grpc::ByteBuffer bytes;
};

// Reactions come from gRPC's threads, operations from one thread of the caller's. Thread-safe.
class RingLink : public std::enable_shared_from_this<RingLink> {
 public:
  RingLink(Rank rank, uint32_t size) : rank_(rank), size_(size) {}

  Rank rank() const { return rank_; }
  uint32_t size() const { return size_; }

  // A stream that somebody opened to this rank. It is taken for the previous rank's once its greeting says so.
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AcceptStream();
  // All have joined: opens the stream to the next rank and accepts the previous one's with the same group number.
  void Connect(uint64_t group, std::shared_ptr<rpc::Peer> next) ABSL_LOCKS_EXCLUDED(mutex_);
  Status AwaitPrevious(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

  // The number of the operation that begins, from 1. What the group died of, once that has been reported too.
  Result<uint64_t> BeginOperation() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndOperation() ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues a message for the next rank; never waits.
  void Send(grpc::ByteBuffer message) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until at most `most` messages are queued.
  Status AwaitSent(size_t most, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<ArrivedSegment> Receive(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the group with an error of this rank; returns what the group died of, which may have been something earlier.
  Status Fail(const Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // What was sent still arrives; the others learn that this rank is gone, and every further operation of this rank
  // fails. Does not wait.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);
  // Says farewell: what was sent arrives, the others learn that this rank is gone. Afterwards no reaction comes.
  void Leave(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class IncomingPass;
  class OutgoingPass;
  // A neighbour that has ended.
  struct Gone {
    uint64_t finished = 0;  // operations
    Status why;
  };

  // Reactions.
  void OnArrived(IncomingPass* pass, bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnIncomingDone(IncomingPass* pass) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnSent(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnNextEnds(OutgoingPass& pass, bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnOutgoingDone(const Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  void TakeGreeting(IncomingPass* pass, const collective::v1::Segment& greeting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AcceptGreeted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(IncomingPass* pass, const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(IncomingPass* pass) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What operation `number` cannot be done because of; ok where nothing is known.
  Status ObstacleOf(uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckNeighbours() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SayFarewell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Die(const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status ReportDeath() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string NameOfPrevious() const;
  std::string NameOfNext() const;

  const Rank rank_;
  const uint32_t size_;

  Mutex mutex_;
  std::optional<uint64_t> group_ ABSL_GUARDED_BY(mutex_);
  uint64_t operation_ ABSL_GUARDED_BY(mutex_) = 0;  // that began last
  uint64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;   // that ended last
  Status death_ ABSL_GUARDED_BY(mutex_);
  bool reported_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;

  IncomingPass* greeted_ ABSL_GUARDED_BY(mutex_) = nullptr;  // waits until the group is known
  uint64_t greeted_group_ ABSL_GUARDED_BY(mutex_) = 0;
  IncomingPass* previous_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null before, and after its end
  bool accepted_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Gone> previous_gone_ ABSL_GUARDED_BY(mutex_);
  std::deque<ArrivedSegment> waiting_ ABSL_GUARDED_BY(mutex_);
  std::set<IncomingPass*> passes_ ABSL_GUARDED_BY(mutex_);  // all streams to this rank that are not done yet

  std::shared_ptr<rpc::Peer> next_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<OutgoingPass> outgoing_ ABSL_GUARDED_BY(mutex_);
  bool outgoing_done_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;  // gRPC may not finish the call between two writes of ours
  std::optional<Gone> next_gone_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> to_send_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::client
