// Prefetching and collation of mini-batches, shared by NodeDataLoader and EdgeDataLoader, which differ only in the
// source. A background thread converts each mini-batch to the form that training needs and puts it into a bounded
// queue.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "services/base/bounded_queue.h"
#include "services/client/dist_graph.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::client {

// Batches of type T for one consumer thread. `collate` converts a mini-batch to T.
template <class T>
class CollatedBatches {
 public:
  using Collate = std::function<Result<T>(sampler::MiniBatch)>;

  // `graph` and `source` must outlive this object. `collate` is called on the background thread, for one batch at a
  // time.
  CollatedBatches(const DistGraph& graph, sampler::MiniBatchSource& source, uint32_t batches_ahead, Collate collate)
      : graph_(graph),
        source_(source),
        batches_ahead_(std::max<uint32_t>(1, batches_ahead)),
        collate_(std::move(collate)) {}
  ~CollatedBatches() { Stop(); }
  CollatedBatches(const CollatedBatches&) = delete;
  CollatedBatches& operator=(const CollatedBatches&) = delete;

  // Starts an epoch at `first_step`. An epoch that is not finished is abandoned.
  Status StartEpoch(uint32_t epoch, uint32_t first_step) {
    Stop();
    RETURN_IF_ERROR(source_.StartEpoch(epoch, first_step));
    ready_ = std::make_unique<BoundedQueue<Result<T>>>(batches_ahead_);
    collator_ = std::jthread([this, ready = ready_.get()] { Prepare(*ready); });
    return Status();
  }

  // Blocks until the batch of the next step is ready and returns it; nullopt after the last batch of the epoch. After
  // an error has been returned, returns nullopt as well. FailedPrecondition: StartEpoch was not called.
  Result<std::optional<T>> Next() {
    if (ready_ == nullptr) return FailedPrecondition("Next was called before StartEpoch");
    std::optional<Result<T>> batch = ready_->Pop();
    if (!batch) return std::optional<T>();
    if (!batch->ok()) return std::move(*batch).status();
    return std::optional<T>(*std::move(*batch));
  }

 private:
  // Body of the background thread: fills the queue until the epoch ends, a batch fails or the queue is closed.
  void Prepare(BoundedQueue<Result<T>>& ready) {
    for (;;) {
      Result<sampler::MiniBatch> batch = source_.Next(graph_.CallDeadline());
      if (!batch.ok()) {
        if (batch.status().code() != StatusCode::kOutOfRange) ready.Push(std::move(batch).status());
        break;
      }
      Result<T> collated = collate_(*std::move(batch));
      const bool failed = !collated.ok();
      if (!ready.Push(std::move(collated)) || failed) break;
    }
    ready.Close();
  }

  void Stop() {
    if (ready_ != nullptr) ready_->Close();
    source_.Cancel();  // the background thread may be blocked in source_.Next
    if (collator_.joinable()) collator_.join();
  }

  const DistGraph& graph_;
  sampler::MiniBatchSource& source_;
  const uint32_t batches_ahead_;
  const Collate collate_;
  std::unique_ptr<BoundedQueue<Result<T>>> ready_;
  std::jthread collator_;  // last; Stop joins it
};

}  // namespace espalier::client
