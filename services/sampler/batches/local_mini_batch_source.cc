// Workers take steps in order while fewer than `depth` steps are ahead of the consumer, prepare them concurrently, and
// put the results into ready_; Next removes them in step order. StartEpoch increments generation_, so that results of
// workers that are still busy with the previous epoch are discarded. Cancel requests a stop, which ends the workers'
// requests and wakes Next.
#include "services/sampler/batches/local_mini_batch_source.h"

#include <algorithm>
#include <limits>

#include "services/base/mutex.h"
#include "services/base/start_threads.h"
#include "services/base/wait_ended.h"
#include "services/sampler/batches/edge_batch.h"
#include "services/sampler/batches/fanout_sampler.h"
#include "services/sampler/batches/link_batch.h"
#include "services/sampler/seeds/seed_order.h"

namespace espalier::sampler {

LocalMiniBatchSource::LocalMiniBatchSource(NeighborSource& neighbors, SeedSource& seeds, SamplingSpec spec,
                                           EpochPlan plan, LocalSamplingOptions options)
    : neighbors_(neighbors), seeds_(seeds), spec_(std::move(spec)), plan_(std::move(plan)), options_(options) {
  StartThreads(
      workers_, options_.threads, [this] { Work(); },
      [this] {
        MutexLock lock(&mutex_);
        stopping_ = true;
      });
}

LocalMiniBatchSource::~LocalMiniBatchSource() {
  Cancel();
  MutexLock lock(&mutex_);
  stopping_ = true;
}

Result<uint64_t> LocalMiniBatchSource::CountSeeds() const {
  if (plan_.edges() != nullptr) return seeds_.CountOfEdges(plan_.edges()->edge_type, plan_.split, plan_.part);
  if (plan_.links() == nullptr) return seeds_.Count(plan_.seed_type, plan_.split, plan_.part);
  ASSIGN_OR_RETURN(const std::vector<uint64_t> first,
                   FirstOrdinals(seeds_, plan_.links()->edge_types(), plan_.split, plan_.part));
  return first.back();
}

Status LocalMiniBatchSource::StartEpoch(uint32_t epoch, uint32_t first_step) {
  if (plan_.batch_size == 0) return InvalidArgument("the batch size must be at least 1");
  if (plan_.rank.value >= plan_.num_trainers) {
    return InvalidArgument("rank " + std::to_string(plan_.rank.value) + " is out of range [0, " +
                           std::to_string(plan_.num_trainers) + ")");
  }
  RETURN_IF_ERROR(FanoutSampler::Make(neighbors_, spec_).status());
  if (plan_.links() != nullptr) RETURN_IF_ERROR(CheckLinkPlan(plan_, neighbors_.book().schema()));
  if (plan_.edges() != nullptr) RETURN_IF_ERROR(CheckEdgePlan(*plan_.edges(), neighbors_.book().schema()));
  ASSIGN_OR_RETURN(const uint64_t total, CountSeeds());
  const uint64_t num_steps = plan_.num_steps.value_or(StepsOfEpoch(total, plan_.batch_size));
  if (num_steps > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("an epoch would have " + std::to_string(num_steps) + " steps; use larger batches");
  }
  MutexLock lock(&mutex_);
  ++generation_;
  cancelled_ = std::stop_source();
  epoch_ = epoch;
  num_steps_ = num_steps;
  next_to_prepare_ = next_to_deliver_ = first_step;
  ready_.clear();
  return {};
}

bool LocalMiniBatchSource::HasTaskOrStops() const {
  const uint64_t end = std::min<uint64_t>(num_steps_, next_to_deliver_ + std::max(1u, options_.depth));
  return stopping_ || next_to_prepare_ < end;
}

bool LocalMiniBatchSource::NextIsReady() const {
  return next_to_deliver_ >= num_steps_ || ready_.contains(next_to_deliver_);
}

Result<MiniBatch> LocalMiniBatchSource::Prepare(const Task& task, FanoutSampler& sampler) const {
  const Deadline deadline = Deadline::After(options_.step_timeout).OrStop(task.cancelled);
  if (plan_.links() != nullptr) {
    return MakeLinkBatch(seeds_, sampler, neighbors_.book(), plan_, spec_.seed, task.epoch, task.step,
                         options_.want_edge_ids, deadline);
  }
  if (plan_.edges() != nullptr) {
    return MakeEdgeBatch(seeds_, sampler, neighbors_.book(), plan_, spec_.seed, task.epoch, task.step,
                         options_.want_edge_ids, deadline);
  }
  const SeedQuery query{.node_type = plan_.seed_type,
                        .split = plan_.split,
                        .part = plan_.part,
                        .shuffle = plan_.shuffle,
                        .seed = spec_.seed,
                        .epoch = task.epoch,
                        .step = task.step,
                        .batch_size = plan_.batch_size};
  ASSIGN_OR_RETURN(const GlobalBatch batch, seeds_.SeedsOfStep(query, deadline));
  const std::vector<GlobalNodeId> share =
      ShareOfBatch(batch, neighbors_.book(), plan_.seed_type, plan_.num_trainers, plan_.rank);
  return sampler.Sample({.epoch = task.epoch,
                         .step = task.step,
                         .seed_type = plan_.seed_type,
                         .seeds = share,
                         .global_num_seeds = static_cast<uint32_t>(batch.seeds.size()),
                         .want_edge_ids = options_.want_edge_ids},
                        deadline);
}

void LocalMiniBatchSource::Work() {
  std::optional<FanoutSampler> sampler;  // created at the first task, after StartEpoch has checked the spec
  for (;;) {
    Task task;
    {
      MutexLock lock(&mutex_);
      mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasTaskOrStops(); });
      if (stopping_) return;
      task = {generation_, epoch_, static_cast<uint32_t>(next_to_prepare_++), cancelled_.get_token()};
    }
    if (!sampler.has_value()) {
      Result<FanoutSampler> made = FanoutSampler::Make(neighbors_, spec_);
      ESPALIER_CHECK(made.ok()) << made.status().ToString();
      sampler.emplace(*std::move(made));
    }
    Result<MiniBatch> batch = Prepare(task, *sampler);
    if (!batch.ok()) {
      batch = std::move(batch).While("preparing epoch " + std::to_string(task.epoch) + " step " +
                                     std::to_string(task.step));
    }
    MutexLock lock(&mutex_);
    if (task.generation == generation_) ready_.insert_or_assign(task.step, std::move(batch));
  }
}

Result<MiniBatch> LocalMiniBatchSource::Next(Deadline deadline) {
  MutexLock lock(&mutex_);
  if (generation_ == 0) return FailedPrecondition("Next was called before StartEpoch");
  if (!mutex_.AwaitBefore(deadline,
                          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return NextIsReadyOrCancelled(); })) {
    return WaitEnded(deadline, "the mini-batch of epoch " + std::to_string(epoch_) + " step " +
                                   std::to_string(next_to_deliver_) + " was not ready in time");
  }
  if (!NextIsReady()) return Cancelled("epoch " + std::to_string(epoch_) + " was cancelled");
  if (next_to_deliver_ >= num_steps_) {
    return OutOfRange("epoch " + std::to_string(epoch_) + " has " + std::to_string(num_steps_) + " steps");
  }
  const auto ready = ready_.find(next_to_deliver_);
  if (!ready->second.ok()) return ready->second.status();
  MiniBatch batch = *std::move(ready->second);
  ready_.erase(ready);
  ++next_to_deliver_;
  return batch;
}

void LocalMiniBatchSource::Cancel() {
  std::stop_source cancelled;
  {
    MutexLock lock(&mutex_);
    cancelled = cancelled_;
  }
  cancelled.request_stop();  // outside the lock: the stop ends calls, whose callbacks may run in this thread
  MutexLock lock(&mutex_);   // the unlock wakes Next
}

}  // namespace espalier::sampler
