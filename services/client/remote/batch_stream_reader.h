// The trainer's end of one stream of mini-batches.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/rpc/channel.h"

namespace espalier::client {

// Reactions run on gRPC's threads; Next is for one consumer. gRPC never runs a reaction inside a Start... call of
// ours, so those are made with the mutex held.
class BatchStreamReader final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                public std::enable_shared_from_this<BatchStreamReader> {
 public:
  // Opens the stream and grants `batches_ahead` credits: so many batches may wait here, and no more. A sampler that
  // sends one without a credit ends the stream (INTERNAL).
  static std::shared_ptr<BatchStreamReader> Open(std::shared_ptr<rpc::Peer> sampler,
                                                 const minibatch::v1::StreamStart& start, uint32_t batches_ahead);

  // The next message; a credit goes back for it. Once the stream has ended and its messages are taken: the status it
  // ended with, which is never ok (CANCELLED where the sampler's peer was told to stop). DeadlineExceeded leaves the
  // stream as it is.
  Result<grpc::ByteBuffer> Next(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // True once no further message can come: what Next answers then is the stream's own end.
  bool HasEnded() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return ended_ && messages_.empty();
  }
  // Ends the stream; its resources go when gRPC is done with it.
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  struct CancelStream {
    std::weak_ptr<BatchStreamReader> stream;
    void operator()() const {
      if (const auto held = stream.lock()) held->Cancel();
    }
  };

  explicit BatchStreamReader(std::shared_ptr<rpc::Peer> sampler) : sampler_(std::move(sampler)) {}

  bool HasMessageOrEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || !messages_.empty(); }
  void GrantCredits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<rpc::Peer> sampler_;
  std::shared_ptr<BatchStreamReader> self_;  // until OnDone
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;  // one read at a time
  grpc::ByteBuffer outgoing_;  // one write at a time

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> messages_ ABSL_GUARDED_BY(mutex_);
  uint32_t credits_to_grant_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t may_come_ ABSL_GUARDED_BY(mutex_) = 0;  // messages that there are credits for
  bool sent_too_many_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // a read or write failed: OnDone will say why
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Status end_ ABSL_GUARDED_BY(mutex_);

  std::optional<std::stop_callback<CancelStream>> on_stop_;
};

}  // namespace espalier::client
