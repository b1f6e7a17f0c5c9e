#include "services/trainer/data/batch_prefetcher.h"

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

std::string NameOfStep(uint32_t epoch, uint32_t step) {
  return "epoch " + std::to_string(epoch) + ", step " + std::to_string(step);
}

}  // namespace

BatchPrefetcher::BatchPrefetcher(sampler::MiniBatchSource& source, const NodeData& data, const PrefetchOptions& options)
    : source_(source),
      data_(data),
      options_(options),
      ready_(options.batches_ahead),
      error_(OutOfRange("no mini-batch is left")),
      thread_([this] { FetchAll(); }) {}

BatchPrefetcher::~BatchPrefetcher() {
  ready_.Close();
  {
    MutexLock lock(&mutex_);
    is_closing_ = true;
    source_.Cancel();  // the thread may be waiting for a mini-batch that is no longer needed
  }
  thread_.join();
}

void BatchPrefetcher::FetchAll() {
  const uint32_t end = options_.first_epoch + options_.num_epochs;
  for (uint32_t epoch = options_.first_epoch; epoch < end; ++epoch) {
    if (Status status = FetchEpoch(epoch); !status.ok()) {
      ready_.Push(std::move(status));
      break;
    }
    if (ready_.IsClosed()) break;
  }
  ready_.Close();
}

Status BatchPrefetcher::FetchEpoch(uint32_t epoch) {
  const uint32_t first_step = epoch == options_.first_epoch ? options_.first_step : 0;
  if (first_step >= options_.steps_per_epoch) return Status();
  {
    MutexLock lock(&mutex_);
    if (is_closing_) return Status();
    RETURN_IF_ERROR(source_.StartEpoch(epoch, first_step));
  }
  for (uint32_t step = first_step; step < options_.steps_per_epoch; ++step) {
    if (is_large_) ready_.AwaitEmpty();
    Result<BatchTensors> batch = FetchOne(epoch, step);
    if (!batch.ok()) return std::move(batch).status().While("mini-batch of " + NameOfStep(epoch, step));
    is_large_ = CountBytes(batch->features) > options_.large_batch_bytes;
    if (!ready_.Push(std::move(batch))) break;
  }
  return Status();
}

Result<BatchTensors> BatchPrefetcher::FetchOne(uint32_t epoch, uint32_t step) {
  const Deadline deadline = Deadline::After(options_.data_timeout);
  const Timer timer;
  auto batch = source_.Next(deadline);
  if (!batch.ok()) {
    // The number of steps is known, so an early end is an error of the source and not the end of the run.
    if (batch.status().code() == StatusCode::kOutOfRange) return Internal(batch.status().message());
    return std::move(batch).status();
  }
  if (batch->epoch != epoch || batch->step != step) {
    return Internal("the source of mini-batches sent " + NameOfStep(batch->epoch, batch->step));
  }
  const double sample_seconds = timer.Seconds();
  try {
    ASSIGN_OR_RETURN(BatchTensors fetched, FetchBatch(*std::move(batch), data_, deadline));
    fetched.sample_seconds = sample_seconds;
    if (data_.has_labels()) {
      RETURN_IF_ERROR(CheckLabels(data_.loss_kind(), fetched.labels, data_.num_outputs()));
    }
    return fetched;
  } catch (const std::exception& error) {  // for example torch, out of memory
    return ResourceExhausted(error.what());
  }
}

Result<BatchTensors> BatchPrefetcher::Next(Deadline deadline) {
  std::optional<Result<BatchTensors>> batch = ready_.PopBefore(deadline);
  if (!batch.has_value()) {
    if (!ready_.IsClosed()) return DeadlineExceeded("waiting for a mini-batch");
    return error_;
  }
  if (!batch->ok()) {
    error_ = batch->status();
    return error_;
  }
  // Recorded when it is used, not when it is fetched: a run that stops early leaves fetched mini-batches unused.
  if (options_.audit != nullptr) {
    RETURN_IF_ERROR(options_.audit->Record((*batch)->batch, ToSpans((*batch)->original_ids)));
  }
  return *std::move(batch);
}

}  // namespace espalier::trainer
