// The part that NodeDataLoader and EdgeDataLoader have in common: epochs of mini-batches from a source. For each epoch,
// a sampler::Prefetcher reads mini-batches ahead and converts them to the form that training needs.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/batches/prefetcher.h"

namespace espalier::client {

// Queue of batches of type T for one consumer thread; any thread may call Cancel. `collate` converts a mini-batch to T.
// Queries in `collate` should use its deadline argument, which also ends when the epoch is canceled or abandoned.
template <class T>
class CollatedBatches {
 public:
  using Collate = std::function<Result<T>(sampler::MiniBatch, const Deadline&)>;

  // `source` must outlive this object. `call_timeout` bounds the wait of the background thread for one batch of
  // `source` and, separately, the collation of the batch. `collate` is called on the background thread of the epoch's
  // Prefetcher, for one batch at a time.
  CollatedBatches(std::chrono::milliseconds call_timeout, sampler::MiniBatchSource& source, uint32_t batches_ahead,
                  Collate collate)
      : call_timeout_(call_timeout),
        source_(source),
        batches_ahead_(std::max<uint32_t>(1, batches_ahead)),
        collate_(std::move(collate)) {}
  ~CollatedBatches() { Stop(); }
  CollatedBatches(const CollatedBatches&) = delete;
  CollatedBatches& operator=(const CollatedBatches&) = delete;

  // Starts an epoch at `first_step`. An unfinished epoch is abandoned. A Cancel during the call cancels the new epoch.
  // FailedPrecondition: this process was forked from the process that created this object, whose threads do not exist
  // here.
  Status StartEpoch(uint32_t epoch, uint32_t first_step) ABSL_LOCKS_EXCLUDED(mutex_) {
    RETURN_IF_ERROR(CheckSameProcess());
    const auto started = std::make_shared<Epoch>(typename Epoch::Options{
        .items_ahead = batches_ahead_,
        .make = [this](const std::stop_token& stop) { return Prepare(stop); },
        .cancel = [this] { source_.Cancel(); },
    });
    {
      MutexLock lock(&mutex_);
      next_epoch_ = started;
    }
    Stop();
    {
      MutexLock lock(&mutex_);
      epoch_ = std::exchange(next_epoch_, nullptr);
    }
    if (const Status status = source_.StartEpoch(epoch, first_step); !status.ok()) {
      MutexLock lock(&mutex_);
      epoch_ = nullptr;
      return status;
    }
    if (started->is_cancelled()) source_.Cancel();
    started->Start();
    return Status();
  }

  // Blocks until the batch of the next step is ready and returns it. Returns nullopt after the last batch of the epoch
  // and after an earlier call has returned an error. FailedPrecondition: no epoch was started.
  Result<std::optional<T>> Next() { return NextBefore(Deadline::Never()); }
  // Like Next, but waits no longer than the deadline. DeadlineExceeded: the deadline has passed. Cancelled: its stop
  // was requested. After either, the caller may request the batch again. A query of the batch may also fail with one
  // of these codes; the epoch has then ended, and later calls return nullopt.
  Result<std::optional<T>> NextBefore(const Deadline& deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    RETURN_IF_ERROR(CheckSameProcess());
    const std::shared_ptr<Epoch> current = Current();
    if (current == nullptr) return FailedPrecondition("Next was called before StartEpoch");
    return current->Next(deadline);
  }

  // Ends the epoch and its queries early. A pending Next in another thread and all later calls return Cancelled until
  // StartEpoch.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Epoch> current, next;
    {
      MutexLock lock(&mutex_);
      current = epoch_;
      next = next_epoch_;
    }
    if (current != nullptr) current->Cancel();
    if (next != nullptr) next->Cancel();
  }

 private:
  using Epoch = sampler::Prefetcher<T>;

  Status CheckSameProcess() const {
    if (getpid() == process_) return Status();
    return FailedPrecondition("a loader cannot be used in a process that was forked from the one that made it");
  }

  std::shared_ptr<Epoch> Current() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return epoch_;
  }

  // Returns the next mini-batch, collated; nullopt after the last one.
  Result<std::optional<T>> Prepare(const std::stop_token& stop) {
    Result<sampler::MiniBatch> batch = source_.Next(Deadline::After(call_timeout_).OrStop(stop));
    if (!batch.ok()) {
      if (batch.status().code() == StatusCode::kOutOfRange) return std::optional<T>();
      return std::move(batch).status();
    }
    ASSIGN_OR_RETURN(T collated, collate_(*std::move(batch), Deadline::After(call_timeout_).OrStop(stop)));
    return std::optional<T>(std::move(collated));
  }

  void Stop() {
    if (const std::shared_ptr<Epoch> current = Current(); current != nullptr) current->Stop();
  }

  const pid_t process_ = getpid();
  const std::chrono::milliseconds call_timeout_;
  sampler::MiniBatchSource& source_;
  const uint32_t batches_ahead_;
  const Collate collate_;
  Mutex mutex_;
  std::shared_ptr<Epoch> epoch_ ABSL_GUARDED_BY(mutex_);       // null before StartEpoch and after StartEpoch has failed
  std::shared_ptr<Epoch> next_epoch_ ABSL_GUARDED_BY(mutex_);  // null except while StartEpoch ends the earlier epoch
};

}  // namespace espalier::client
