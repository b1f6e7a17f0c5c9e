// Client side of one stream of mini-batches from a sampler process.
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

// gRPC calls the On... functions on its own threads. Next is for one consumer thread; Cancel is thread-safe. gRPC never
// calls an On... function inside a Start... call, so Start... may be called with the mutex held.
class BatchStreamReader final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                public std::enable_shared_from_this<BatchStreamReader> {
 public:
  // Opens the stream and grants `batches_ahead` credits. The sampler sends one mini-batch per credit, so at most that
  // many are queued. A batch that the sampler sends without a credit ends the stream with INTERNAL.
  static std::shared_ptr<BatchStreamReader> Open(std::shared_ptr<rpc::Peer> sampler,
                                                 const minibatch::v1::StreamStart& start, uint32_t batches_ahead);

  // Blocks until a message arrives, returns it and grants a credit. After the last message of an ended stream, returns
  // the status of the stream, which is never OK (Cancelled if rpc::Peer::stop was requested). If the deadline passes
  // first, returns DeadlineExceeded; if its stop is requested first, Cancelled. In both cases the stream stays open.
  Result<grpc::ByteBuffer> Next(Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether Next will return the status of the ended stream.
  bool HasEnded() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return ended_ && messages_.empty();
  }
  // Cancels the stream; its resources are released in OnDone.
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
  // Sends credits_to_grant_ to the sampler, unless a write is pending.
  void GrantCredits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<rpc::Peer> sampler_;
  std::shared_ptr<BatchStreamReader> self_;  // keeps this object alive until OnDone
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;  // one read at a time
  grpc::ByteBuffer outgoing_;  // one write at a time

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> messages_ ABSL_GUARDED_BY(mutex_);
  uint32_t credits_to_grant_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t open_credits_ ABSL_GUARDED_BY(mutex_) = 0;  // credits that the sampler may still use
  bool sent_too_many_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;  // a write is pending
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;   // no further message is read; OnDone gets the status
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  Status end_ ABSL_GUARDED_BY(mutex_);  // status of the ended stream, never OK

  std::optional<std::stop_callback<CancelStream>> on_stop_;
};

}  // namespace espalier::client
