// Prefetching and collation of mini-batches, shared by NodeDataLoader and EdgeDataLoader, which differ only in the
// source. A background thread converts each mini-batch to the form that training needs and puts it into a bounded
// queue.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "services/base/bounded_queue.h"
#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/wait_ended.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::client {

// Queue of batches of type T for one consumer thread; any thread may call Cancel. `collate` converts a mini-batch to T.
// Its queries should use the deadline that it receives, which also ends when the epoch is canceled or abandoned.
template <class T>
class CollatedBatches {
 public:
  using Collate = std::function<Result<T>(sampler::MiniBatch, const Deadline&)>;

  // `source` must outlive this object. `call_timeout` bounds the wait for one batch and, separately, its collation.
  // `collate` is called on the background thread, for one batch at a time.
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
  // FailedPrecondition: this process was forked from the process that created this object, and lacks its threads.
  Status StartEpoch(uint32_t epoch, uint32_t first_step) ABSL_LOCKS_EXCLUDED(mutex_) {
    RETURN_IF_ERROR(CheckSameProcess());
    Stop();
    const auto started = std::make_shared<Epoch>(batches_ahead_);
    {
      MutexLock lock(&mutex_);
      epoch_ = started;
    }
    if (const Status status = source_.StartEpoch(epoch, first_step); !status.ok()) {
      MutexLock lock(&mutex_);
      epoch_ = nullptr;
      return status;
    }
    if (started->stop.stop_requested()) source_.Cancel();
    collator_ = std::jthread([this, started] { Prepare(*started); });
    return Status();
  }

  // Blocks until the batch of the next step is ready and returns it. Returns nullopt after the last batch of the epoch,
  // and in calls after one that has returned an error. FailedPrecondition: no epoch was started.
  Result<std::optional<T>> Next() { return NextBefore(Deadline::Never()); }
  // Like Next, but waits no longer than the deadline. DeadlineExceeded, or Cancelled if the deadline's stop was
  // requested: the caller may request the batch again. If a query of the batch itself failed with one of these codes,
  // later calls return nullopt.
  Result<std::optional<T>> NextBefore(const Deadline& deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    RETURN_IF_ERROR(CheckSameProcess());
    const std::shared_ptr<Epoch> current = Current();
    if (current == nullptr) return FailedPrecondition("Next was called before StartEpoch");
    std::optional<Result<T>> batch = current->ready.PopBefore(deadline);
    if (current->stop.stop_requested()) return Cancelled("the epoch was cancelled");
    if (!batch) {
      const bool has_ended = current->ready.IsClosed() && current->ready.Size() == 0;
      if (has_ended) return std::optional<T>();
      return WaitEnded(deadline, "the next batch was not ready in time");
    }
    if (!batch->ok()) return std::move(*batch).status();
    return std::optional<T>(*std::move(*batch));
  }

  // Ends the epoch and its queries early. A pending Next in another thread and all later calls return Cancelled until
  // StartEpoch.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::shared_ptr<Epoch> current = Current();
    if (current == nullptr) return;
    current->stop.request_stop();
    current->ready.Close();
    source_.Cancel();
  }

 private:
  struct Epoch {
    explicit Epoch(size_t capacity) : ready(capacity) {}
    BoundedQueue<Result<T>> ready;
    std::stop_source stop;  // Cancel and Stop request it
  };

  Status CheckSameProcess() const {
    if (getpid() == process_) return Status();
    return FailedPrecondition("a loader cannot be used in a process that was forked from the one that made it");
  }

  std::shared_ptr<Epoch> Current() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return epoch_;
  }

  // Body of the background thread: fills the queue until the epoch ends, a batch fails or the queue is closed.
  void Prepare(Epoch& epoch) {
    for (;;) {
      const Deadline deadline = Deadline::After(call_timeout_).OrStop(epoch.stop.get_token());
      Result<sampler::MiniBatch> batch = source_.Next(deadline);
      if (!batch.ok()) {
        if (batch.status().code() != StatusCode::kOutOfRange) epoch.ready.Push(std::move(batch).status());
        break;
      }
      Result<T> collated = collate_(*std::move(batch), Deadline::After(call_timeout_).OrStop(epoch.stop.get_token()));
      const bool failed = !collated.ok();
      if (!epoch.ready.Push(std::move(collated)) || failed) break;
    }
    epoch.ready.Close();
  }

  void Stop() {
    Cancel();
    if (collator_.joinable()) collator_.join();
  }

  const pid_t process_ = getpid();
  const std::chrono::milliseconds call_timeout_;
  sampler::MiniBatchSource& source_;
  const uint32_t batches_ahead_;
  const Collate collate_;
  Mutex mutex_;
  std::shared_ptr<Epoch> epoch_ ABSL_GUARDED_BY(mutex_);  // null before StartEpoch, and after one that failed
  std::jthread collator_;                                 // last; Stop joins it
};

}  // namespace espalier::client
