// Mini-batches fetched ahead of the thread that computes: sampling and gathering of step t + 1, t + 2 go on while
// step t trains, also over the ends of epochs. Large ones are only two at a time: one that trains, one ahead.
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
  uint32_t first_step = 0;  // of the first epoch; may be steps_per_epoch: nothing is left of it
  uint32_t num_epochs = 0;
  uint32_t steps_per_epoch = 0;
  size_t batches_ahead = 2;                // that wait, beside one under way; each holds its features: memory
  size_t large_batch_bytes = 32 << 20;     // after one with such features, none is fetched while any waits
  std::chrono::seconds data_timeout{600};  // for one mini-batch and its rows
  sampler::AuditWriter* audit = nullptr;   // outlives the prefetcher; null: none
};

// Next is called by one thread.
class BatchPrefetcher {
 public:
  // Both outlive this.
  BatchPrefetcher(sampler::MiniBatchSource& source, const NodeData& data, const PrefetchOptions& options);
  // Gives up the mini-batch that is being drawn; waits for the rows of one that is drawn, at most its timeout.
  ~BatchPrefetcher();

  // The mini-batches of all epochs in order. After an error, the same error again; OutOfRange past the last.
  Result<BatchTensors> Next(Deadline deadline);

 private:
  void FetchAll();
  Status FetchEpoch(uint32_t epoch);
  Result<BatchTensors> FetchOne(uint32_t epoch, uint32_t step);

  sampler::MiniBatchSource& source_;
  const NodeData& data_;
  const PrefetchOptions options_;
  bool is_large_ = false;  // the batch that was fetched last; of the thread
  BoundedQueue<Result<BatchTensors>> ready_;
  Status error_;  // of the consumer's side
  Mutex mutex_;   // between an epoch's start and the end of it all, which the source could not tell apart
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace espalier::trainer
