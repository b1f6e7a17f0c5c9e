// Flow control by credits: the sampler may send one mini-batch for each credit. The first request grants
// `batches_ahead` credits, and Next grants one more for each message that it returns. gRPC allows one pending write, so
// the credits of messages that are returned during a write are granted together after the write. The reader owns itself
// (self_) until OnDone.
#include "services/client/remote/batch_stream_reader.h"

#include <utility>

#include "services/base/mutex.h"
#include "services/base/wait_ended.h"
#include "services/rpc/frame.h"
#include "services/rpc/status_map.h"

namespace espalier::client {
namespace {
constexpr const char* kStream = "/espalier.minibatch.v1.MiniBatchStream/Stream";
}

std::shared_ptr<BatchStreamReader> BatchStreamReader::Open(std::shared_ptr<rpc::Peer> sampler,
                                                           const minibatch::v1::StreamStart& start,
                                                           uint32_t batches_ahead) {
  std::shared_ptr<BatchStreamReader> reader(new BatchStreamReader(std::move(sampler)));
  reader->self_ = reader;
  minibatch::v1::StreamRequest request;
  *request.mutable_start() = start;
  request.set_more_credits(batches_ahead);
  reader->sampler_->stub.PrepareBidiStreamingCall(&reader->context_, kStream, grpc::StubOptions(), reader.get());
  {
    MutexLock lock(&reader->mutex_);
    reader->open_credits_ = batches_ahead;
    reader->outgoing_ = rpc::EncodeFrame(std::move(request), {});
    reader->writing_ = true;
    // Next starts writes on the consumer's thread; the hold keeps gRPC from calling OnDone before such a write.
    reader->AddHold();
    reader->StartWrite(&reader->outgoing_);
    reader->StartRead(&reader->incoming_);
    reader->StartCall();
  }
  reader->on_stop_.emplace(reader->sampler_->stop, CancelStream{reader});
  return reader;
}

Result<grpc::ByteBuffer> BatchStreamReader::Next(Deadline deadline) {
  MutexLock lock(&mutex_);
  mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasMessageOrEnded(); });
  if (!messages_.empty()) {
    grpc::ByteBuffer message = messages_.front();
    messages_.pop_front();
    ++credits_to_grant_;
    GrantCredits();
    return message;
  }
  if (ended_) return end_;
  return WaitEnded(deadline, sampler_->name + " at " + sampler_->address + " sent no mini-batch before the deadline");
}

void BatchStreamReader::GrantCredits() {
  if (writing_ || broken_ || credits_to_grant_ == 0) return;
  minibatch::v1::StreamRequest request;
  request.set_more_credits(credits_to_grant_);
  open_credits_ += std::exchange(credits_to_grant_, 0);
  outgoing_ = rpc::EncodeFrame(std::move(request), {});
  writing_ = true;
  StartWrite(&outgoing_);
}

void BatchStreamReader::OnReadDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    if (ok && open_credits_ > 0) {
      --open_credits_;
      messages_.push_back(std::move(incoming_));
      incoming_.Clear();
      StartRead(&incoming_);
      return;
    }
    // No further message will arrive or be accepted. After RemoveHold, gRPC calls OnDone when no write is pending.
    broken_ = true;
    sent_too_many_ = ok;
  }
  if (ok) Cancel();
  RemoveHold();
}

void BatchStreamReader::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  if (ok) GrantCredits();
}

void BatchStreamReader::OnDone(const grpc::Status& status) {
  const std::shared_ptr<BatchStreamReader> last = std::move(self_);
  MutexLock lock(&mutex_);
  ended_ = true;
  end_ = status.ok() ? Unavailable("the stream ended early") : rpc::FromGrpc(status);
  if (sent_too_many_) end_ = Internal("the sampler sent a mini-batch without a credit");
  end_ = std::move(end_).While(sampler_->name + " at " + sampler_->address + ", mini-batches");
}

}  // namespace espalier::client
