// Prefetches mini-batches for the training thread: while step t trains, a background thread samples steps t + 1, t + 2
// and gathers their rows, across epoch boundaries. If mini-batches are large, at most two exist at a time: the one that
// trains and the next one.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "services/base/bounded_queue.h"
#include "services/base/mutex.h"
#include "services/sampler/batches/audit.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/trainer/data/batch_tensors.h"

namespace espalier::trainer {

struct PrefetchOptions {
  uint32_t first_epoch = 0;
  uint32_t first_step = 0;  // of first_epoch; steps_per_epoch: that epoch has no steps left
  uint32_t num_epochs = 0;
  uint32_t steps_per_epoch = 0;
  size_t batches_ahead = 2;                // queued, besides the one being fetched; each holds its features
  size_t large_batch_bytes = 32 << 20;     // a batch with more bytes of features stops fetching until none is queued
  std::chrono::seconds data_timeout{600};  // for one mini-batch with its rows
  sampler::AuditWriter* audit = nullptr;   // outlives the prefetcher; null: no audit record
};

// Next must be called by one thread only.
class BatchPrefetcher {
 public:
  // `source` and `data` outlive this. Fetching starts immediately.
  BatchPrefetcher(sampler::MiniBatchSource& source, const NodeData& data, const PrefetchOptions& options);
  // Cancels sampling. If rows are being gathered, waits until that ends, at most data_timeout.
  ~BatchPrefetcher();

  // Returns the next mini-batch; all epochs follow each other in order. OutOfRange after the last one. DeadlineExceeded
  // if none is ready in time. After an error of fetching, returns the same error again. Appends the mini-batch to the
  // audit record.
  Result<BatchTensors> Next(Deadline deadline);

 private:
  void FetchAll();
  Status FetchEpoch(uint32_t epoch);
  Result<BatchTensors> FetchOne(uint32_t epoch, uint32_t step);

  sampler::MiniBatchSource& source_;
  const NodeData& data_;
  const PrefetchOptions options_;
  bool is_large_ = false;  // whether the last fetched batch is large; used by thread_ only
  BoundedQueue<Result<BatchTensors>> ready_;
  Status error_;  // returned by Next when the queue is closed; used by the consumer only
  Mutex mutex_;   // orders StartEpoch and the destructor's Cancel, because StartEpoch would undo an earlier Cancel
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace espalier::trainer
