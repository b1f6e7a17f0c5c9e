// How a stream works. The first message fixes the plan and thereby the number of batches; every message adds credits.
// SubmitSteps submits as many steps to workers as credits and batches_at_once allow. Workers put their batches into
// ready_ in any order. SendNext writes the batches in step order, one write at a time. Every event (a read, a write, a
// sampled batch) calls SubmitSteps and SendNext, so the stream needs no thread of its own. The first call of End
// finishes the stream; batches that become ready later are dropped.
#include "services/server/batch_stream.h"

#include <algorithm>
#include <utility>

#include "services/base/failpoint.h"
#include "services/base/mutex.h"
#include "services/messages/mini_batch_messages.h"
#include "services/rpc/status_map.h"
#include "services/sampler/batches/edge_batch.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/seeds/seed_order.h"
#include "services/server/draw_bounds.h"

namespace espalier::server {

BatchStream* BatchStream::Start(const MiniBatchService& service, grpc::CallbackServerContext*) {
  std::shared_ptr<BatchStream> stream(new BatchStream(service));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void BatchStream::OnReadDone(bool ok) {
  MutexLock lock(&mutex_);
  if (ended_) return;
  if (!ok) {  // the trainer sends no more messages, but still receives the batches that its credits cover
    if (!started_) End(InvalidArgument("the stream ended before a start message"));
    return;
  }
  if (const Status handled = HandleRequest(); !handled.ok()) return End(handled);
  SubmitSteps();
  SendNext();
  if (!ended_) StartRead(&incoming_);
}

Status BatchStream::HandleRequest() {
  ASSIGN_OR_RETURN(const rpc::Frame<minibatch::v1::StreamRequest> frame,
                   rpc::DecodeFrame<minibatch::v1::StreamRequest>(incoming_));
  if (started_ == frame.header.has_start()) {
    return InvalidArgument("expected the start of the stream in its first message, and in no other");
  }
  if (!started_) RETURN_IF_ERROR(HandleStart(frame.header.start()));
  credits_ += frame.header.more_credits();
  // The trainer may have received the batch that is being written, and have sent a new credit for it, before
  // OnWriteDone is called here.
  const uint64_t num_sent = next_to_send_ + (writing_ ? 1 : 0);
  if (credits_ > num_sent + service_.context_.limits.max_batches_ahead) {
    return ResourceExhausted("the stream has " + std::to_string(credits_ - num_sent) + " credits, the limit is " +
                             std::to_string(service_.context_.limits.max_batches_ahead));
  }
  return Status();
}

Status BatchStream::HandleStart(const minibatch::v1::StreamStart& start) {
  RETURN_IF_ERROR(service_.context_.gate->Admit(start.identity()));
  ASSIGN_OR_RETURN(plan_, messages::DecodeStart(start, service_.context_.limits));
  RETURN_IF_ERROR(CheckDraws(plan_, service_.neighbors_.book(), service_.context_.limits));
  if (service_.options_.admit) RETURN_IF_ERROR(service_.options_.admit(plan_));
  ASSIGN_OR_RETURN(const uint64_t total, CountSeeds());
  const uint64_t num_steps = sampler::StepsOfEpoch(total, plan_.plan.batch_size);
  if (plan_.first_step < num_steps) num_batches_ = (num_steps - plan_.first_step - 1) / plan_.stride + 1;
  started_ = true;
  return Status();
}

// Returns the number of training nodes or edges of the plan, after checking the plan against the graph.
Result<uint64_t> BatchStream::CountSeeds() const {
  const sampler::EpochPlan& plan = plan_.plan;
  const graph::GraphSchema& schema = service_.neighbors_.book().schema();
  if (plan.links() != nullptr) {
    RETURN_IF_ERROR(sampler::CheckLinkPlan(plan, schema));
    ASSIGN_OR_RETURN(
        const std::vector<uint64_t> first,
        sampler::FirstOrdinals(service_.seeds_, plan.links()->edge_types(), plan.split, graph::SplitPartName::kTrain));
    return first.back();
  }
  if (plan.edges() != nullptr) {
    RETURN_IF_ERROR(sampler::CheckEdgePlan(*plan.edges(), schema));
    return service_.seeds_.CountOfEdges(plan.edges()->edge_type, plan.split, graph::SplitPartName::kTrain);
  }
  RETURN_IF_ERROR(schema.CheckNodeType(plan.seed_type));
  return service_.seeds_.Count(plan.seed_type, plan.split, graph::SplitPartName::kTrain);
}

void BatchStream::SubmitSteps() {
  const uint32_t max_sampling = std::max<uint32_t>(1, service_.options_.batches_at_once);
  while (!ended_ && num_sampling_ < max_sampling && next_to_sample_ < std::min(num_batches_, credits_)) {
    const uint64_t index = next_to_sample_++;
    ++num_sampling_;
    if (!service_.context_.workers->TrySubmit([self = shared_from_this(), index] { self->MakeBatch(index); })) {
      --num_sampling_;
      End(Unavailable("all workers are busy and the queue is full"));
    }
  }
}

void BatchStream::MakeBatch(uint64_t index) {
  {
    MutexLock lock(&mutex_);
    if (ended_) {  // the stream ended while the batch was queued
      --num_sampling_;
      return;
    }
  }
  const Timer timer;
  const uint32_t step = static_cast<uint32_t>(plan_.first_step + index * plan_.stride);
  Result<std::unique_ptr<sampler::FanoutSampler>> sampler = TakeSampler();
  Result<grpc::ByteBuffer> batch =
      sampler.ok() ? EncodeBatch(step, **sampler) : Result<grpc::ByteBuffer>(sampler.status());
  if (service_.context_.metrics != nullptr) {
    service_.context_.metrics->RecordCall("MiniBatch", batch.status().code(), timer.Seconds(), 0,
                                          batch.ok() ? batch->Length() : 0);
  }

  MutexLock lock(&mutex_);
  --num_sampling_;
  if (sampler.ok()) idle_samplers_.push_back(*std::move(sampler));
  if (ended_) return;
  ready_.emplace(index, std::move(batch));
  SendNext();
  SubmitSteps();
}

Result<std::unique_ptr<sampler::FanoutSampler>> BatchStream::TakeSampler() {
  {
    MutexLock lock(&mutex_);
    if (!idle_samplers_.empty()) {
      std::unique_ptr<sampler::FanoutSampler> sampler = std::move(idle_samplers_.back());
      idle_samplers_.pop_back();
      return sampler;
    }
  }
  ASSIGN_OR_RETURN(sampler::FanoutSampler sampler, sampler::FanoutSampler::Make(service_.neighbors_, plan_.spec));
  return std::make_unique<sampler::FanoutSampler>(std::move(sampler));
}

Result<sampler::MiniBatch> BatchStream::SampleBatch(uint32_t step, sampler::FanoutSampler& sampler) const {
  const Deadline deadline = Deadline::After(service_.options_.step_timeout);
  if (plan_.plan.links() != nullptr) {
    return sampler::MakeLinkBatch(service_.seeds_, sampler, service_.neighbors_.book(), plan_.plan, plan_.spec.seed,
                                  plan_.epoch, step, plan_.want_edge_ids, deadline);
  }
  if (plan_.plan.edges() != nullptr) {
    return sampler::MakeEdgeBatch(service_.seeds_, sampler, service_.neighbors_.book(), plan_.plan, plan_.spec.seed,
                                  plan_.epoch, step, plan_.want_edge_ids, deadline);
  }
  sampler::SeedQuery query;
  query.node_type = plan_.plan.seed_type;
  query.split = plan_.plan.split;
  query.shuffle = plan_.plan.shuffle;
  query.seed = plan_.spec.seed;
  query.epoch = plan_.epoch;
  query.step = step;
  query.batch_size = plan_.plan.batch_size;
  ASSIGN_OR_RETURN(const sampler::GlobalBatch global, service_.seeds_.SeedsOfStep(query, deadline));
  const std::vector<GlobalNodeId> share = sampler::ShareOfBatch(global, service_.neighbors_.book(), query.node_type,
                                                                plan_.plan.num_trainers, plan_.plan.rank);
  sampler::BatchRequest request;
  request.epoch = plan_.epoch;
  request.step = step;
  request.seed_type = query.node_type;
  request.seeds = share;
  request.global_num_seeds = static_cast<uint32_t>(global.seeds.size());
  request.want_edge_ids = plan_.want_edge_ids;
  return sampler.Sample(request, deadline);
}

Result<grpc::ByteBuffer> BatchStream::EncodeBatch(uint32_t step, sampler::FanoutSampler& sampler) const {
  RETURN_IF_ERROR(Failpoint("sampler.batch"));
  ASSIGN_OR_RETURN(const sampler::MiniBatch batch, SampleBatch(step, sampler));
  ASSIGN_OR_RETURN(grpc::ByteBuffer bytes, messages::EncodeMiniBatch(batch, plan_.spec.draw));
  if (bytes.Length() > service_.context_.limits.max_reply_bytes) {
    return ResourceExhausted("the mini-batch has " + std::to_string(bytes.Length()) + " bytes, the limit is " +
                             std::to_string(service_.context_.limits.max_reply_bytes));
  }
  return bytes;
}

void BatchStream::SendNext() {
  if (ended_ || writing_ || !started_) return;
  if (next_to_send_ == num_batches_) {
    return End(OutOfRange("epoch " + std::to_string(plan_.epoch) + " has no further step"));
  }
  const auto next = ready_.find(next_to_send_);
  if (next == ready_.end()) return;
  Result<grpc::ByteBuffer> batch = std::move(next->second);
  ready_.erase(next);
  if (!batch.ok()) {
    // OUT_OF_RANGE would tell the trainer that the epoch has ended.
    const bool looks_like_the_end = batch.status().code() == StatusCode::kOutOfRange;
    return End(looks_like_the_end ? Internal(batch.status().message()) : batch.status());
  }
  outgoing_.Swap(&*batch);
  writing_ = true;
  StartWrite(&outgoing_);
}

void BatchStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  if (ended_) return;
  if (!ok) return End(Cancelled("the trainer has disconnected"));
  ++next_to_send_;
  SendNext();
  SubmitSteps();
}

void BatchStream::OnCancel() {
  MutexLock lock(&mutex_);
  End(Cancelled("the trainer has disconnected, or the sampler stops"));
}

void BatchStream::End(const Status& status) {
  if (ended_) return;
  ended_ = true;
  Finish(rpc::ToGrpc(status));
}

void BatchStream::OnDone() { const std::shared_ptr<BatchStream> last = std::move(self_); }

}  // namespace espalier::server
