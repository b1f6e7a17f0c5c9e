// The prefetcher's thread repeats: sample ahead, gather the rows of the oldest sampled mini-batch, queue it. Without a
// cache it samples one mini-batch at a time. With a cache, it samples one mini-batch first, so that the first step does
// not wait for the sampling of later ones. It then samples two for each mini-batch whose rows it gathers, until
// options.cache.steps mini-batches wait in window_. If sampling fails, Next first returns the mini-batches that were
// sampled before the error. The growth of window_ does not depend on timing, so that the cache's counts of hits and
// misses are reproducible.
#include "services/trainer/data/batch_prefetcher.h"

#include <utility>

namespace espalier::trainer {
namespace {

std::vector<std::span<const int64_t>> ToSpans(const std::vector<torch::Tensor>& original_ids) {
  std::vector<std::span<const int64_t>> spans;
  for (const torch::Tensor& ids : original_ids) {
    spans.emplace_back(ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel()));
  }
  return spans;
}

size_t CountBytes(const TypedRows& rows) {
  size_t bytes = 0;
  for (const torch::Tensor& of_type : rows) bytes += of_type.nbytes();
  return bytes;
}

std::string DescribeStep(uint32_t epoch, uint32_t step) {
  return "epoch " + std::to_string(epoch) + ", step " + std::to_string(step);
}

}  // namespace

BatchPrefetcher::BatchPrefetcher(sampler::MiniBatchSource& source, const NodeData& data, const PrefetchOptions& options)
    : source_(source),
      options_(options),
      data_(options.cache.rows == nullptr ? data : data.WithRowSource(*options.cache.rows)),
      epoch_(options.first_epoch),
      step_(options.first_step),
      window_({.rows = options.cache.rows,
               .slots = options.cache.device == nullptr ? nullptr : &options.cache.device->slots(),
               .steps = options.cache.steps,
               .max_bytes = options.cache.max_waiting_bytes}),
      cache_metrics_(options.cache.metrics),
      device_metrics_(options.cache.device_metrics),
      end_(OutOfRange("no mini-batch is left")),
      prefetcher_({.items_ahead = options.batches_ahead,
                   .is_large = [limit = options.large_batch_bytes](
                                   const BatchTensors& batch) { return CountBytes(batch.features) > limit; },
                   .make = [this](const std::stop_token& stop) { return Fetch(stop); },
                   .cancel =
                       [this] {
                         MutexLock lock(&mutex_);
                         source_.Cancel();  // the thread may be waiting for a mini-batch that is no longer needed
                       }}) {
  prefetcher_.Start();
}

Result<std::optional<BatchTensors>> BatchPrefetcher::Fetch(const std::stop_token& stop) {
  Result<std::optional<BatchTensors>> batch = FetchNext(stop);
  if (!batch.ok()) end_ = batch.status();
  return batch;
}

Result<std::optional<BatchTensors>> BatchPrefetcher::FetchNext(const std::stop_token& stop) {
  SampleAhead(stop);
  if (stop.stop_requested()) return std::optional<BatchTensors>();  // the rows of waiting mini-batches are not needed
  if (window_.empty()) {
    RETURN_IF_ERROR(*sampling_end_);
    return std::optional<BatchTensors>();
  }
  Sampled sampled = window_.Pop();
  const std::string name = DescribeStep(sampled.batch.epoch, sampled.batch.step);
  Result<BatchTensors> batch = FetchRows(std::move(sampled));
  if (!batch.ok()) return std::move(batch).status().While("mini-batch of " + name);
  return std::optional<BatchTensors>(*std::move(batch));
}

void BatchPrefetcher::SampleAhead(const std::stop_token& stop) {
  window_.Grow();
  while (!sampling_end_.has_value() && window_.HasRoom()) {
    Result<std::optional<Sampled>> sampled = Sample(stop);
    if (!sampled.ok()) {
      sampling_end_ = std::move(sampled).status();
    } else if (!sampled->has_value()) {
      sampling_end_ = Status();
    } else {
      window_.Push(**std::move(sampled));
    }
  }
}

Result<std::optional<BatchPrefetcher::Sampled>> BatchPrefetcher::Sample(const std::stop_token& stop) {
  while (step_ >= options_.steps_per_epoch) {
    if (epoch_ >= options_.first_epoch + options_.num_epochs) return std::optional<Sampled>();
    ++epoch_;
    step_ = 0;
    has_started_ = false;
    if (options_.steps_per_epoch == 0) return std::optional<Sampled>();
  }
  if (epoch_ >= options_.first_epoch + options_.num_epochs) return std::optional<Sampled>();
  if (!has_started_) {
    MutexLock lock(&mutex_);
    if (stop.stop_requested()) return std::optional<Sampled>();
    RETURN_IF_ERROR(source_.StartEpoch(epoch_, step_));
    has_started_ = true;
  }
  Result<Sampled> sampled = SampleOne();
  if (!sampled.ok()) return std::move(sampled).status().While("mini-batch of " + DescribeStep(epoch_, step_));
  ++step_;
  return std::optional<Sampled>(*std::move(sampled));
}

Result<BatchPrefetcher::Sampled> BatchPrefetcher::SampleOne() {
  const Timer timer;
  const Deadline deadline = Deadline::After(options_.data_timeout);
  auto batch = source_.Next(deadline);
  if (!batch.ok()) {
    // The number of steps is known, so an early end is an error of the source and not the end of the run.
    if (batch.status().code() == StatusCode::kOutOfRange) return Internal(batch.status().message());
    return std::move(batch).status();
  }
  if (batch->epoch != epoch_ || batch->step != step_) {
    return Internal("the source of mini-batches sent " + DescribeStep(batch->epoch, batch->step));
  }
  if (batch->nodes.size() != data_.input_widths().size()) {
    return Internal("a mini-batch does not fit the graph's node types");
  }
  return Sampled{*std::move(batch), timer.Seconds(), deadline};
}

Result<BatchTensors> BatchPrefetcher::FetchRows(Sampled sampled) {
  sampler::ScheduledRowCache* const cache = options_.cache.rows;
  DeviceRows* const device = options_.cache.device;
  // With a cache, a mini-batch may wait for long in window_, so gathering its rows has a separate time limit.
  const Deadline deadline = options_.cache.is_used() ? Deadline::After(options_.data_timeout) : sampled.deadline;
  try {
    std::optional<sampler::StepPlan> plan;
    if (device != nullptr) plan = device->slots().TakeStep(sampled.batch.nodes);
    // The nodes must stay in place until EndStep. They do, because moving the batch and the plan does not move the
    // elements of their vectors.
    if (cache != nullptr) {
      cache->BeginStep(plan.has_value() ? plan->missing_nodes : sampled.batch.nodes, /*reads_all=*/!plan.has_value());
    }
    ASSIGN_OR_RETURN(BatchTensors fetched, FetchBatch(std::move(sampled.batch), data_, deadline, std::move(plan)));
    fetched.sample_seconds = sampled.sample_seconds;
    if (data_.has_labels()) {
      RETURN_IF_ERROR(CheckLabels(data_.loss_kind(), fetched.labels, data_.num_outputs()));
    }
    if (cache != nullptr) {
      cache->EndStep();
      cache_metrics_.Update(*cache);
    }
    if (device != nullptr) {
      device->CompleteIds(&fetched);
      device_metrics_.Update(device->slots().counts(), device->memory_bytes());
    }
    return fetched;
  } catch (const std::exception& error) {  // for example c10::Error if memory is exhausted
    return ResourceExhausted(error.what());
  }
}

Result<BatchTensors> BatchPrefetcher::Next(Deadline deadline) {
  ASSIGN_OR_RETURN(std::optional<BatchTensors> batch, prefetcher_.Next(deadline));
  if (!batch.has_value()) return end_;
  if (options_.cache.device != nullptr) RETURN_IF_ERROR(options_.cache.device->CompleteFeatures(&*batch));
  // Recorded when it is used, not when it is fetched: a run that stops early leaves fetched mini-batches unused.
  if (options_.audit != nullptr) {
    RETURN_IF_ERROR(options_.audit->Record(batch->batch, ToSpans(batch->original_ids)));
  }
  return *std::move(batch);
}

}  // namespace espalier::trainer
