// One trainer's stream of mini-batches.
//
//   reads:   the start, then credits   ----> credits_
//   workers: sample the first credits_ batches of the stream, in any order ----> ready_
//   writes:  batches from ready_ in step order, one at a time
#pragma once

#include <grpcpp/support/server_callback.h>

#include <map>
#include <memory>
#include <vector>

#include "services/base/mutex.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/server/mini_batch_service.h"

namespace espalier::server {

// Handles one MiniBatchStream call. gRPC calls the On... functions on its threads; workers sample the batches. The
// object owns itself until OnDone was called and no worker uses it any more. gRPC never calls an On... function inside
// of StartRead, StartWrite or Finish, so the mutex can be held during these three calls. Holding it ensures that no
// StartRead or StartWrite follows Finish. Only the first StartRead runs without the mutex, because gRPC calls no On...
// function before it.
class BatchStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          public std::enable_shared_from_this<BatchStream> {
 public:
  // Makes the object of a new call and reads its first message. gRPC uses the returned object until OnDone.
  static BatchStream* Start(const MiniBatchService& service, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit BatchStream(const MiniBatchService& service) : service_(service) {}

  // Handles the message in incoming_.
  Status HandleRequest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status HandleStart(const minibatch::v1::StreamStart& start) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<uint64_t> CountSeeds() const;
  // Submits steps to workers as far as the credits and the option batches_at_once allow.
  void SubmitSteps() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the next step if it is ready; ends the stream after the last step.
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs on a worker: samples batch `index` and puts it into ready_.
  void MakeBatch(uint64_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<sampler::MiniBatch> SampleBatch(uint32_t step, sampler::FanoutSampler& sampler) const;
  // Samples the batch of a step and encodes it.
  Result<grpc::ByteBuffer> EncodeBatch(uint32_t step, sampler::FanoutSampler& sampler) const;
  // Returns an idle sampler, or a new one.
  Result<std::unique_ptr<sampler::FanoutSampler>> TakeSampler() ABSL_LOCKS_EXCLUDED(mutex_);

  const MiniBatchService& service_;
  std::shared_ptr<BatchStream> self_;  // until OnDone
  grpc::ByteBuffer incoming_;          // the message being read
  grpc::ByteBuffer outgoing_;          // the message being written
  messages::StreamPlan plan_;          // does not change once started_

  Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Batches of this stream are numbered 0, 1, ...; batch i is step first_step + i * stride.
  uint64_t num_batches_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t credits_ ABSL_GUARDED_BY(mutex_) = 0;  // batches that may be sent, counted from the start of the stream
  uint64_t next_to_sample_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_to_send_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t num_sampling_ ABSL_GUARDED_BY(mutex_) = 0;  // batches submitted to workers and not yet in ready_
  std::map<uint64_t, Result<grpc::ByteBuffer>> ready_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<sampler::FanoutSampler>> idle_samplers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
