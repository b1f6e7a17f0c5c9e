// Source of the mini-batches that sampler processes sample.
//
// With S samplers, sampler s samples the steps with step mod S = s, up to `batches_ahead` mini-batches ahead of the
// trainer. Samplers are stateless: if a sampler cannot be reached, another one takes over its steps, beginning with the
// first missing step; the order of the steps and every batch stay the same. The next epoch uses the lost sampler again.
// If no sampler can be reached, Next waits until one responds.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/unique_number.h"
#include "services/client/remote/batch_stream_reader.h"
#include "services/graph/partition_book.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::client {

struct RemoteMiniBatchOptions {
  std::vector<std::string> samplers;  // "host:port", at least one
  std::string partition_key;
  std::string job;  // --job-name of the samplers
  uint64_t incarnation = 0;
  uint32_t batches_ahead = 2;  // per sampler, at least 1
  bool want_edge_ids = false;  // whether blocks contain the ids of sampled edges
  rpc::ChannelSettings channel;
};

// Returns how long to wait after `round` rounds in which no sampler could be reached. `source` is the unique number of
// the source: it determines the jitter, which spreads the retries of trainers that lost the samplers at the same time.
std::chrono::milliseconds DelayAfterRound(uint64_t source, int round);
// Sleeps for `duration`, or until one of the stops is requested.
void SleepUnlessStopped(std::chrono::milliseconds duration, const std::stop_token& stop_of_epoch,
                        const std::stop_token& stop_of_call);

// One consumer at a time. An epoch ends after EpochPlan::num_steps if it is set; the samplers must have seeds for these
// steps.
class RemoteMiniBatchSource final : public sampler::MiniBatchSource {
 public:
  // Creates a source; StartEpoch opens the streams. InvalidArgument: an address is invalid, or sampler processes do not
  // support the plan. ResourceExhausted: the fan-outs do not fit into one message. FailedPrecondition: this process was
  // forked from one that uses gRPC.
  static Result<std::unique_ptr<RemoteMiniBatchSource>> Make(graph::PartitionBook book, sampler::EpochPlan plan,
                                                             sampler::SamplingSpec spec,
                                                             const RemoteMiniBatchOptions& options);
  ~RemoteMiniBatchSource() override;

  Status StartEpoch(uint32_t epoch, uint32_t first_step) override;
  // Unavailable: no sampler can be reached before the deadline. DeadlineExceeded: the sampler has not sent the batch by
  // the deadline. After either, the next call requests the same step. Cancelled: the stop of the channel or of the
  // deadline was requested, or the epoch was canceled. Unimplemented: a sampler of another version does not support an
  // option of the specification.
  Result<sampler::MiniBatch> Next(Deadline deadline) override;
  void Cancel() override ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns how often the steps of a sampler were moved to the next sampler since this object was created. Includes
  // moves to samplers that could not be reached either.
  uint64_t num_takeovers() const { return num_takeovers_; }

 private:
  // The steps with the same remainder modulo the number of samplers.
  struct Lane {
    size_t sampler = 0;                         // index of the current sampler
    std::shared_ptr<BatchStreamReader> stream;  // null: AwaitMessage opens it
  };

  RemoteMiniBatchSource(graph::PartitionBook book, sampler::EpochPlan plan, sampler::SamplingSpec spec,
                        const RemoteMiniBatchOptions& options);
  void OpenStream(Lane& lane, uint32_t step);
  // Moves the lane to the next sampler. `is_first`: the first move in a call of Next; only this move is logged.
  void TakeOver(Lane& lane, const Status& reason, bool is_first);
  void CloseStreams();
  // Returns the message of the next step.
  Result<grpc::ByteBuffer> AwaitMessage(Deadline deadline);
  std::stop_source StopOfEpoch() ABSL_LOCKS_EXCLUDED(mutex_);
  void Count(const Result<grpc::ByteBuffer>& message, double seconds) const;
  Result<sampler::MiniBatch> Decode(const grpc::ByteBuffer& message) const;

  const graph::PartitionBook book_;
  const sampler::EpochPlan plan_;
  const sampler::SamplingSpec spec_;
  const RemoteMiniBatchOptions options_;
  const uint64_t number_ = UniqueNumber();  // for DelayAfterRound
  std::vector<std::shared_ptr<rpc::Peer>> samplers_;
  std::vector<Lane> lanes_;
  Mutex mutex_;
  std::stop_source cancelled_ ABSL_GUARDED_BY(mutex_);  // renewed for each epoch
  uint32_t epoch_ = 0;
  uint32_t next_step_ = 0;
  uint64_t num_takeovers_ = 0;
};

}  // namespace espalier::client
