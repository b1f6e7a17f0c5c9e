// Mini-batches prepared in advance by threads of this process.
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/base/mutex.h"
#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::sampler {

struct LocalSamplingOptions {
  int threads = 1;     // at least 1; does not influence the batches
  uint32_t depth = 2;  // batches prepared ahead of the consumer, at least 1
  // How long one batch's preparation may wait for partitions.
  std::chrono::milliseconds step_timeout = std::chrono::minutes(10);
  bool want_edge_ids = false;  // set Block::edge_ids
};

// Used by one consumer; has its own worker threads. If the batch of a step fails, Next returns the batches before it,
// and then the error in every call until StartEpoch.
class LocalMiniBatchSource final : public MiniBatchSource {
 public:
  // `neighbors` and `seeds` outlive this and are thread-safe.
  LocalMiniBatchSource(NeighborSource& neighbors, SeedSource& seeds, SamplingSpec spec, EpochPlan plan,
                       LocalSamplingOptions options);
  // Cancels the requests of batches in preparation and waits until they end. (A request that a partition in this
  // process has begun to execute cannot be cancelled.)
  ~LocalMiniBatchSource() override;

  // Returns NotFound if the split does not exist, InvalidArgument if plan or spec do not fit the graph.
  Status StartEpoch(uint32_t epoch, uint32_t first_step) override;
  Result<MiniBatch> Next(Deadline deadline) override;
  void Cancel() override;

 private:
  struct Task {
    uint64_t generation = 0;
    uint32_t epoch = 0;
    uint32_t step = 0;
    std::stop_token cancelled;
  };

  Result<uint64_t> CountSeeds() const;
  void Work();
  Result<MiniBatch> Prepare(const Task& task, class FanoutSampler& sampler) const;
  bool HasTaskOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextIsReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool NextIsReadyOrCancelled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return cancelled_.stop_requested() || NextIsReady();
  }

  // Fixed after construction.
  NeighborSource& neighbors_;
  SeedSource& seeds_;
  const SamplingSpec spec_;
  const EpochPlan plan_;
  const LocalSamplingOptions options_;

  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::stop_source cancelled_ ABSL_GUARDED_BY(mutex_);  // new in each epoch; Cancel stops it, which ends requests
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;     // number of StartEpoch calls; older results are discarded
  uint32_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t num_steps_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_to_prepare_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_to_deliver_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Result<MiniBatch>> ready_ ABSL_GUARDED_BY(mutex_);  // by step

  std::vector<std::jthread> workers_;  // last: joined before the other members are destroyed
};

}  // namespace espalier::sampler
