// With S samplers, the steps of an epoch form S lanes: lane i has the steps with step mod S = i. StartEpoch opens one
// stream for each lane. Next takes the message of the next step from its lane, so batches are in step order. If a
// stream ends because its sampler is unreachable or stopping, TakeOver moves the lane to the next sampler, and
// AwaitMessage opens a stream there from the missing step. After a round through all samplers without a batch,
// AwaitMessage waits with increasing, jittered delays. If the deadline of the caller passes, the stream stays open for
// the next call.
#include "services/client/remote/remote_mini_batch_source.h"

#include <algorithm>
#include <utility>

#include "services/base/backoff.h"
#include "services/base/hash.h"
#include "services/base/host_port.h"
#include "services/base/mutex.h"
#include "services/messages/mini_batch_messages.h"
#include "services/messages/stream_messages.h"
#include "services/rpc/forked.h"
#include "services/rpc/frame.h"
#include "services/sampler/batches/edge_batch.h"
#include "services/sampler/batches/link_batch.h"
#include "services/telemetry/log.h"

namespace espalier::client {
namespace {

constexpr const char* kMethod = "Stream";  // name in metrics, which count a mini-batch as a call

// Returns whether `code` is the error of an unreachable or stopping sampler; another sampler may then serve its steps.
bool IsUnreachableOrStopping(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kCancelled;
}

Status CheckSampledEdgesHaveIds(const sampler::MiniBatch& batch) {
  for (const sampler::BatchLayer& layer : batch.layers) {
    for (const sampler::Block& block : layer.blocks) {
      if (block.edge_ids.size() == block.indices.size()) continue;
      return Unimplemented("the sampler sends no ids of sampled edges: it has another version");
    }
  }
  return Status();
}

// Checks the size of the first message of a stream, which contains the fan-outs of all layers and relations.
Status CheckSizeOfStart(const sampler::EpochPlan& plan, const sampler::SamplingSpec& spec,
                        const RemoteMiniBatchOptions& options) {
  constexpr size_t kOtherBytes = 1024;  // upper bound for the remaining fields
  const size_t size_bytes = messages::EncodeStart(plan, spec).ByteSizeLong() + options.partition_key.size() +
                            options.job.size() + kOtherBytes;
  if (size_bytes <= rpc::kMaxHeaderBytes) return Status();
  return ResourceExhausted("the fan-outs of " + std::to_string(spec.layers.size()) + " layers take " +
                           std::to_string(size_bytes) + " bytes in a request to a sampler, the limit is " +
                           std::to_string(rpc::kMaxHeaderBytes) + ": sample in the trainer processes");
}

}  // namespace

std::chrono::milliseconds DelayAfterRound(uint64_t source, int round) {
  const uint64_t word = HashCombine(source, static_cast<uint64_t>(round));
  return DelayBefore(round, RetryPolicy{}, static_cast<uint32_t>(word));
}

void SleepUnlessStopped(std::chrono::milliseconds duration, const std::stop_token& stop_of_epoch,
                        const std::stop_token& stop_of_call) {
  std::stop_source stop;
  const auto request_stop = [&stop] { stop.request_stop(); };
  const std::stop_callback at_stop_of_epoch(stop_of_epoch, request_stop);
  const std::stop_callback at_stop_of_call(stop_of_call, request_stop);
  Mutex mutex;
  MutexLock lock(&mutex);
  mutex.AwaitBefore(Deadline::After(duration).OrStop(stop.get_token()), [] { return false; });
}

Result<std::unique_ptr<RemoteMiniBatchSource>> RemoteMiniBatchSource::Make(graph::PartitionBook book,
                                                                           sampler::EpochPlan plan,
                                                                           sampler::SamplingSpec spec,
                                                                           const RemoteMiniBatchOptions& options) {
  if (options.samplers.empty()) return InvalidArgument("no sampler address is given");
  RETURN_IF_ERROR(rpc::CheckNotForked());
  if (plan.edges() != nullptr) RETURN_IF_ERROR(sampler::CheckEdgePlan(*plan.edges(), book.schema()));
  if (plan.links() != nullptr) {
    RETURN_IF_ERROR(sampler::CheckLinkPlan(plan, book.schema()));
  }
  for (const std::string& address : options.samplers) RETURN_IF_ERROR(ParseHostPort(address).status());
  if (plan.part != graph::SplitPartName::kTrain) {
    return InvalidArgument("sampler processes serve only batches of training seeds");
  }
  RETURN_IF_ERROR(CheckSizeOfStart(plan, spec, options));
  return std::unique_ptr<RemoteMiniBatchSource>(
      new RemoteMiniBatchSource(std::move(book), std::move(plan), std::move(spec), options));
}

RemoteMiniBatchSource::RemoteMiniBatchSource(graph::PartitionBook book, sampler::EpochPlan plan,
                                             sampler::SamplingSpec spec, const RemoteMiniBatchOptions& options)
    : book_(std::move(book)), plan_(std::move(plan)), spec_(std::move(spec)), options_(options) {
  rpc::ChannelSettings channel = options_.channel;
  channel.server_role = pki::PeerRole::kSampler;
  for (const std::string& address : options_.samplers) {
    samplers_.push_back(std::make_shared<rpc::Peer>("sampler", address, channel));
    lanes_.push_back({lanes_.size(), nullptr});
  }
}

RemoteMiniBatchSource::~RemoteMiniBatchSource() { CloseStreams(); }

void RemoteMiniBatchSource::CloseStreams() {
  for (Lane& lane : lanes_) {
    if (lane.stream != nullptr) lane.stream->Cancel();
    lane.stream.reset();
  }
}

std::stop_source RemoteMiniBatchSource::StopOfEpoch() {
  MutexLock lock(&mutex_);
  return cancelled_;
}

void RemoteMiniBatchSource::Cancel() { StopOfEpoch().request_stop(); }

Status RemoteMiniBatchSource::StartEpoch(uint32_t epoch, uint32_t first_step) {
  CloseStreams();
  {
    MutexLock lock(&mutex_);
    cancelled_ = std::stop_source();
  }
  epoch_ = epoch;
  next_step_ = first_step;
  const uint32_t num_lanes = static_cast<uint32_t>(lanes_.size());
  for (uint32_t i = 0; i < num_lanes; ++i) lanes_[i].sampler = i;  // lost samplers may have restarted
  for (uint32_t i = 0; i < num_lanes; ++i) OpenStream(lanes_[(first_step + i) % num_lanes], first_step + i);
  return Status();
}

void RemoteMiniBatchSource::OpenStream(Lane& lane, uint32_t step) {
  minibatch::v1::StreamStart start = messages::EncodeStart(plan_, spec_);
  start.mutable_identity()->set_partition_key(options_.partition_key);
  start.mutable_identity()->set_job(options_.job);
  start.mutable_identity()->set_incarnation(options_.incarnation);
  start.set_epoch(epoch_);
  start.set_first_step(step);
  start.set_stride(static_cast<uint32_t>(lanes_.size()));
  start.set_want_edge_ids(options_.want_edge_ids);
  lane.stream = BatchStreamReader::Open(samplers_[lane.sampler], start, std::max<uint32_t>(1, options_.batches_ahead));
}

void RemoteMiniBatchSource::TakeOver(Lane& lane, const Status& reason, bool is_first) {
  lane.stream.reset();
  const size_t next = (lane.sampler + 1) % samplers_.size();
  if (next != lane.sampler) {
    ++num_takeovers_;
    if (is_first) {
      telemetry::Log(
          telemetry::Level::kWarning, "lost a sampler; another sampler serves its steps",
          {{"lost", samplers_[lane.sampler]->address}, {"next", samplers_[next]->address}, {"error", reason}});
    }
  }
  lane.sampler = next;
}

Result<sampler::MiniBatch> RemoteMiniBatchSource::Next(Deadline deadline) {
  const Timer timer;
  const Result<grpc::ByteBuffer> message = AwaitMessage(deadline);
  Count(message, timer.Seconds());
  if (!message.ok()) return message.status();
  Result<sampler::MiniBatch> batch = Decode(*message);
  ++next_step_;
  return batch;
}

// Counts a wait for a mini-batch as a call in metrics, except the end of an epoch and a canceled wait.
void RemoteMiniBatchSource::Count(const Result<grpc::ByteBuffer>& message, double seconds) const {
  const StatusCode code = message.status().code();
  if (options_.channel.metrics == nullptr || code == StatusCode::kOutOfRange || code == StatusCode::kCancelled) return;
  options_.channel.metrics->CountCall(
      kMethod, {.code = code, .seconds = seconds, .reply_bytes = message.ok() ? message->Length() : 0});
}

Result<grpc::ByteBuffer> RemoteMiniBatchSource::AwaitMessage(Deadline deadline) {
  if (plan_.num_steps.has_value() && next_step_ >= *plan_.num_steps) {
    return OutOfRange("epoch " + std::to_string(epoch_) + " has " + std::to_string(*plan_.num_steps) + " steps");
  }
  Lane& lane = lanes_[next_step_ % lanes_.size()];
  const std::stop_token cancelled = StopOfEpoch().get_token();
  const std::stop_callback at_stop(options_.channel.stop, [this] { Cancel(); });
  for (int attempt = 0;; ++attempt) {
    if (lane.stream == nullptr) {
      if (attempt > 0 && options_.channel.metrics != nullptr) {
        options_.channel.metrics->CountRetry(kMethod, rpc::RetryCause::kNoAnswer);
      }
      OpenStream(lane, next_step_);
    }
    Result<grpc::ByteBuffer> message = [&] {
      const std::stop_callback at_cancel(cancelled, [stream = lane.stream] { stream->Cancel(); });
      return lane.stream->Next(deadline);
    }();
    if (message.ok()) return message;
    if (options_.channel.stop.stop_requested()) {
      return Cancelled("the process was asked to stop while it waited for a mini-batch");
    }
    if (deadline.stop().stop_requested()) return Cancelled("the call was cancelled");  // stream stays open
    if (cancelled.stop_requested()) return Cancelled("epoch " + std::to_string(epoch_) + " was cancelled");
    const StatusCode code = message.status().code();
    // The deadline of the caller has passed, and the next call waits again. If the stream itself ended with this code,
    // the next call opens a new stream.
    if (code == StatusCode::kDeadlineExceeded && !lane.stream->HasEnded()) return std::move(message).status();
    if (code == StatusCode::kOutOfRange && plan_.num_steps.has_value()) {
      return Internal("the samplers' epoch ends before step " + std::to_string(next_step_) + ", expected " +
                      std::to_string(*plan_.num_steps) + " steps");
    }
    if (!IsUnreachableOrStopping(code)) {
      lane.stream.reset();
      return std::move(message).status();
    }
    TakeOver(lane, message.status(), /*is_first=*/attempt == 0);
    // No batch after a round through all samplers: wait to avoid a tight loop.
    const int round = (attempt + 1) / static_cast<int>(samplers_.size());
    if ((attempt + 1) % static_cast<int>(samplers_.size()) == 0) {
      const std::chrono::milliseconds delay = DelayAfterRound(number_, round);
      if (deadline.Remaining() <= delay) return Unavailable(message.status().message());
      SleepUnlessStopped(delay, cancelled, deadline.stop());
    }
  }
}

Result<sampler::MiniBatch> RemoteMiniBatchSource::Decode(const grpc::ByteBuffer& message) const {
  const rpc::Peer& sampler = *samplers_[lanes_[next_step_ % lanes_.size()].sampler];
  ASSIGN_OR_RETURN(sampler::MiniBatch batch, messages::DecodeMiniBatch(message, book_, plan_, spec_)
                                                 .While(sampler.name + " at " + sampler.address + ", mini-batches"));
  if (batch.epoch != epoch_ || batch.step != next_step_) {
    return Internal("the sampler sent epoch " + std::to_string(batch.epoch) + " step " + std::to_string(batch.step) +
                    ", expected epoch " + std::to_string(epoch_) + " step " + std::to_string(next_step_));
  }
  if (options_.want_edge_ids) RETURN_IF_ERROR(CheckSampledEdgesHaveIds(batch));
  return batch;
}

}  // namespace espalier::client
