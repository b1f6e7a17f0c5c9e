// Mini-batches from sampler processes.
//
// Of S samplers, number s draws the steps with step mod S = s, ahead of the trainer by its credits. Samplers hold no
// state, so when one cannot be reached another takes over its steps from the one that is missing; the order of the
// steps, and every batch, stay what they were. The next epoch asks the lost one again. When all are gone, Next waits
// until one is back.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/base/unique_number.h"
#include "services/client/remote/batch_stream_reader.h"
#include "services/graph/partition_book.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/draws/sampling_spec.h"

namespace espalier::client {

struct RemoteMiniBatchOptions {
  std::vector<std::string> samplers;  // "host:port", at least one
  std::string partition_key;
  std::string job;  // as the samplers' --job-name
  uint64_t incarnation = 0;
  uint32_t batches_ahead = 2;  // per sampler, at least 1
  bool want_edge_ids = false;  // of drawn edges
  rpc::ChannelSettings channel;
};

// How long the source with this number, which no other has, waits after so many rounds through samplers that are all
// lost: trainers that lost them together do not come back together.
std::chrono::milliseconds DelayAfterRound(uint64_t source, int round);

// One consumer at a time. An epoch ends after EpochPlan::num_steps, where they are set; the seeds are at least as many.
class RemoteMiniBatchSource final : public sampler::MiniBatchSource {
 public:
  // InvalidArgument where an address is none, or the plan is one of which sampler processes make no batches;
  // ResourceExhausted where the fan-outs are too many for one message.
  static Result<std::unique_ptr<RemoteMiniBatchSource>> Make(graph::PartitionBook book, sampler::EpochPlan plan,
                                                             sampler::SamplingSpec spec,
                                                             const RemoteMiniBatchOptions& options);
  ~RemoteMiniBatchSource() override;

  Status StartEpoch(uint32_t epoch, uint32_t first_step) override;
  // Unavailable when no sampler has answered by the deadline; the same step may be asked for again. Cancelled once the
  // channel's stop is asked for.
  Result<sampler::MiniBatch> Next(Deadline deadline) override;
  void Cancel() override { given_up_.request_stop(); }

  // How often another sampler had to take over.
  uint64_t num_takeovers() const { return num_takeovers_; }

 private:
  // The steps with one remainder modulo the number of samplers.
  struct Lane {
    size_t sampler = 0;                         // who draws them now
    std::shared_ptr<BatchStreamReader> stream;  // null: to be opened at the step that is wanted next
  };

  RemoteMiniBatchSource(graph::PartitionBook book, sampler::EpochPlan plan, sampler::SamplingSpec spec,
                        const RemoteMiniBatchOptions& options);
  void OpenStream(Lane& lane, uint32_t step);
  void TakeOver(Lane& lane, const Status& why, bool is_news);
  void CloseStreams();
  Result<grpc::ByteBuffer> AwaitMessage(Deadline deadline);
  void Count(const Result<grpc::ByteBuffer>& message, double seconds) const;
  Result<sampler::MiniBatch> Decode(const grpc::ByteBuffer& message) const;

  const graph::PartitionBook book_;
  const sampler::EpochPlan plan_;
  const sampler::SamplingSpec spec_;
  const RemoteMiniBatchOptions options_;
  const uint64_t number_ = UniqueNumber();  // of its waits alone
  std::vector<std::shared_ptr<rpc::Peer>> samplers_;
  std::vector<Lane> lanes_;
  std::stop_source given_up_;  // a new one for each epoch
  uint32_t epoch_ = 0;
  uint32_t next_step_ = 0;
  uint64_t num_takeovers_ = 0;
};

}  // namespace espalier::client
