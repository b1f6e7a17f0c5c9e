// Prefetches mini-batches for the training thread: while step t trains, a background thread samples steps t + 1, t + 2
// and gathers their rows, across epoch boundaries. If mini-batches are large, at most two exist at a time: the one that
// trains and the next one. With a cache of rows, in host memory or on the device, mini-batches are sampled further
// ahead, without their rows.
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

// Makes the prefetcher sample mini-batches ahead of their rows, and read rows from caches that know these steps.
struct FeatureCacheOptions {
  // Both outlive the prefetcher, which alone uses them; null: none.
  sampler::ScheduledRowCache* rows = nullptr;  // in host memory
  DeviceRows* device = nullptr;                // on the device
  uint32_t steps = 0;                          // mini-batches sampled beyond the one whose rows are gathered
  // Limit for the memory of the sampled mini-batches that wait for their rows. One may always wait. The next mini-batch
  // is assumed to be as large as the one before it, so a larger one may exceed the limit.
  uint64_t max_waiting_bytes = 0;
  FeatureCacheMetrics metrics;
  DeviceRowsMetrics device_metrics;

  bool is_used() const { return rows != nullptr || device != nullptr; }
};

struct PrefetchOptions {
  uint32_t first_epoch = 0;
  uint32_t first_step = 0;  // of first_epoch; steps_per_epoch: that epoch has no steps left
  uint32_t num_epochs = 0;
  uint32_t steps_per_epoch = 0;
  size_t batches_ahead = 2;  // queued, besides the one being fetched; each holds its features
  // After a batch with more bytes of features, fetching pauses until none is queued.
  size_t large_batch_bytes = 32 << 20;
  // Time to sample a mini-batch and gather its rows; with a cache, time for each of the two.
  std::chrono::seconds data_timeout{600};
  sampler::AuditWriter* audit = nullptr;  // outlives the prefetcher; null: no audit record
  FeatureCacheOptions cache;
};

// Next must be called by one thread only.
class BatchPrefetcher {
 public:
  // `source` and `data` outlive this. Fetching starts immediately.
  BatchPrefetcher(sampler::MiniBatchSource& source, const NodeData& data, const PrefetchOptions& options);
  // The destructor cancels sampling. If rows are being gathered, it waits until that ends, at most data_timeout.

  // Returns the next mini-batch; all epochs follow each other in order. Its features are complete, and on the device
  // for node types that have rows there. OutOfRange after the last one. DeadlineExceeded if none is ready in time.
  // After an error of fetching, returns the same error again. Appends the mini-batch to the audit record.
  Result<BatchTensors> Next(Deadline deadline);

 private:
  struct Sampled {
    sampler::MiniBatch batch;
    double sample_seconds = 0;
    Deadline deadline;  // for its rows if there is no cache
  };

  // Makes the next item of prefetcher_. Keeps its error in end_.
  Result<std::optional<BatchTensors>> Fetch(const std::stop_token& stop);
  Result<std::optional<BatchTensors>> FetchNext(const std::stop_token& stop);
  // Samples until as many mini-batches wait as the cache needs in advance, or one mini-batch without a cache.
  void SampleAhead(const std::stop_token& stop);
  // Returns the next mini-batch; nullopt after the last one or when a stop is requested.
  Result<std::optional<Sampled>> Sample(const std::stop_token& stop);
  Result<Sampled> SampleOne();
  Result<BatchTensors> FetchRows(Sampled sampled);

  sampler::MiniBatchSource& source_;
  const PrefetchOptions options_;
  const NodeData data_;  // reads from the cache in host memory if there is one

  // Used by the prefetcher's thread only.
  uint32_t epoch_;                        // of the next mini-batch to sample
  uint32_t step_;                         // of the next mini-batch to sample
  bool has_started_ = false;              // whether the source has started epoch_
  sampler::BatchWindow<Sampled> window_;  // sampled; rows are not gathered yet
  std::optional<Status> sampled_;  // set when no further mini-batch follows window_: OK, or the error of sampling
  FeatureCacheMetrics cache_metrics_;
  DeviceRowsMetrics device_metrics_;
  // What Next returns after the last mini-batch. The thread writes it before the prefetcher's queue closes.
  Status end_;
  Mutex mutex_;  // orders StartEpoch and Cancel, because StartEpoch would undo an earlier Cancel
  sampler::Prefetcher<BatchTensors> prefetcher_;  // last: uses the other members
};

}  // namespace espalier::trainer
