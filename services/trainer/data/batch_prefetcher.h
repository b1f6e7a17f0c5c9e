// Prefetches mini-batches for the training thread: while a step trains, a background thread samples the next steps
// (PrefetchOptions::batches_ahead) and gathers their rows, across epoch boundaries. If mini-batches are large, at most
// two hold their rows at a time: the one in training and the next one. With a cache of rows, in host memory or on the
// device, mini-batches are sampled further ahead, without their rows.
#pragma once

#include <optional>
#include <stop_token>

#include "services/base/mutex.h"
#include "services/sampler/batches/audit.h"
#include "services/sampler/batches/batch_window.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/batches/prefetcher.h"
#include "services/sampler/row_cache/scheduled_row_cache.h"
#include "services/trainer/data/batch_tensors.h"
#include "services/trainer/data/device_rows.h"
#include "services/trainer/data/feature_cache_metrics.h"

namespace espalier::trainer {

// Caches of feature rows. With a cache, the prefetcher samples mini-batches well before it gathers their rows, so that
// the cache knows which rows the next steps read.
struct FeatureCacheOptions {
  // The caches outlive the prefetcher and must not be used by anything else meanwhile; null: none.
  sampler::ScheduledRowCache* rows = nullptr;  // in host memory
  DeviceRows* device = nullptr;                // on the device
  uint32_t steps = 0;                          // mini-batches sampled beyond the one whose rows are gathered
  // Limit for the memory of the sampled mini-batches that wait for their rows; one mini-batch may wait whatever its
  // size. The next mini-batch is assumed to be as large as the one before it, so a larger one may exceed the limit.
  uint64_t max_waiting_bytes = 0;
  FeatureCacheMetrics metrics;
  DeviceRowsMetrics device_metrics;

  bool is_used() const { return rows != nullptr || device != nullptr; }
};

struct PrefetchOptions {
  uint32_t first_epoch = 0;
  uint32_t first_step = 0;  // of first_epoch; if it equals steps_per_epoch, that epoch has no steps left
  uint32_t num_epochs = 0;  // from first_epoch on
  uint32_t steps_per_epoch = 0;
  size_t batches_ahead = 2;  // queued, besides the one being fetched; each holds its features
  // After a mini-batch with more bytes of features than this, fetching pauses until the queue is empty.
  size_t large_batch_bytes = 32 << 20;
  // Time limit for sampling a mini-batch and gathering its rows; with a cache, the limit for each of the two.
  std::chrono::seconds data_timeout{600};
  sampler::AuditWriter* audit = nullptr;  // outlives the prefetcher; null: no audit record
  FeatureCacheOptions cache;
};

// Next must be called by one thread only. The destructor cancels sampling; if rows are being gathered, it waits until
// that ends, at most data_timeout.
class BatchPrefetcher {
 public:
  // `source` and `data` outlive this. Fetching starts immediately.
  BatchPrefetcher(sampler::MiniBatchSource& source, const NodeData& data, const PrefetchOptions& options);
  // Returns the next mini-batch, epoch by epoch. Its features are complete; those of node types that have slots in
  // options.cache.device are on the device. OutOfRange after the last mini-batch. DeadlineExceeded if the next one is
  // not ready in time. After an error of fetching, every call returns that error. Appends the mini-batch to the audit
  // record.
  Result<BatchTensors> Next(Deadline deadline);

 private:
  struct Sampled {
    sampler::MiniBatch batch;
    double sample_seconds = 0;
    Deadline deadline;  // for gathering the rows, if there is no cache
  };

  // Calls FetchNext for prefetcher_ and stores an error in end_.
  Result<std::optional<BatchTensors>> Fetch(const std::stop_token& stop);
  // Samples ahead, then gathers the rows of the oldest mini-batch of window_. Returns nullopt after the last
  // mini-batch, or if a stop is requested.
  Result<std::optional<BatchTensors>> FetchNext(const std::stop_token& stop);
  // Samples until window_ is full; without a cache, it holds one mini-batch.
  void SampleAhead(const std::stop_token& stop);
  // Returns the next mini-batch; nullopt after the last one or when a stop is requested.
  Result<std::optional<Sampled>> Sample(const std::stop_token& stop);
  // Takes the mini-batch of step_ from the source and checks that it fits.
  Result<Sampled> SampleOne();
  // Gathers the rows of a mini-batch, through the caches if there are any.
  Result<BatchTensors> FetchRows(Sampled sampled);

  sampler::MiniBatchSource& source_;
  const PrefetchOptions options_;
  const NodeData data_;  // reads from the cache in host memory if there is one

  // Used by the prefetcher's thread only.
  uint32_t epoch_;                        // of the next mini-batch to sample
  uint32_t step_;                         // of the next mini-batch to sample
  bool has_started_ = false;              // whether the source has started epoch_
  sampler::BatchWindow<Sampled> window_;  // sampled; rows are not gathered yet
  std::optional<Status> sampling_end_;  // set when no mini-batch follows those in window_: OK, or the error of sampling
  FeatureCacheMetrics cache_metrics_;
  DeviceRowsMetrics device_metrics_;
  // The status that Next returns after the last mini-batch, written by the thread before the prefetcher's queue closes.
  Status end_;
  Mutex mutex_;  // orders StartEpoch and Cancel, because StartEpoch would undo an earlier Cancel
  sampler::Prefetcher<BatchTensors> prefetcher_;  // last: uses the other members
};

}  // namespace espalier::trainer
