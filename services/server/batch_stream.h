// One trainer's stream of mini-batches.
//
//   reads:   start, then credits ------> credits_
//   workers: steps in the making   ----> ready_ (any order), only the first credits_ batches of the stream
//   writes:  ready_ in step order, one at a time
#pragma once

#include <grpcpp/support/server_callback.h>

#include <map>
#include <memory>
#include <vector>

#include "services/base/mutex.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/server/mini_batch_service.h"

namespace espalier::server {

// Handles one MiniBatchStream call. Reactions run on gRPC's threads, results come from workers. The object owns itself
// until gRPC has finished with it and the last worker has left. gRPC never runs a reaction inside a call of StartRead,
// StartWrite or Finish. Therefore the mutex is held during these calls, except the first StartRead, which no reaction
// can precede. The mutex guarantees that no such call follows Finish.
class BatchStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          public std::enable_shared_from_this<BatchStream> {
 public:
  static BatchStream* Start(const MiniBatchService& service, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit BatchStream(const MiniBatchService& service) : service_(service) {}

  Status TakeRequest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status TakeStart(const minibatch::v1::StreamStart& start) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<uint64_t> CountSeeds() const;
  // Submits steps to workers as far as the credits allow.
  void SubmitSteps() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the next step if it is ready; ends the stream after the last step.
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Runs on a worker: draws batch `index` and puts it into ready_.
  void MakeBatch(uint64_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  Result<sampler::MiniBatch> SampleBatch(uint32_t step, sampler::FanoutSampler& sampler) const;
  Result<grpc::ByteBuffer> DrawBatch(uint32_t step, sampler::FanoutSampler& sampler) const;
  Result<std::unique_ptr<sampler::FanoutSampler>> TakeSampler() ABSL_LOCKS_EXCLUDED(mutex_);

  const MiniBatchService& service_;
  std::shared_ptr<BatchStream> self_;  // until OnDone
  grpc::ByteBuffer incoming_;          // one read at a time
  grpc::ByteBuffer outgoing_;          // one write at a time
  messages::StreamPlan plan_;          // fixed once started

  Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Batches of this stream are numbered 0, 1, ...; batch i is step first_step + i * stride.
  uint64_t num_batches_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t credits_ ABSL_GUARDED_BY(mutex_) = 0;  // batches that may be sent, counted from the start of the stream
  uint64_t next_to_make_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_to_send_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t in_the_making_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Result<grpc::ByteBuffer>> ready_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<sampler::FanoutSampler>> idle_samplers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
