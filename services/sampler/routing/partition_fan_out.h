// Collects the responses of several partitions that are called at once, and waits for them. The callbacks share
// ownership of the state, so a response after the deadline is stored safely and ignored.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/base/wait_ended.h"
#include "services/graph/ids.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// Thread-safe. Must be created by std::make_shared.
template <class T>
class PartitionFanOut : public std::enable_shared_from_this<PartitionFanOut<T>> {
 public:
  // `requested` lists the called partitions, in any order. `kept_alive` owns the memory that the requests refer to; it
  // lives until the last response.
  PartitionFanOut(std::vector<PartitionId> requested, std::shared_ptr<const void> kept_alive)
      : requested_(std::move(requested)),
        kept_alive_(std::move(kept_alive)),
        answers_(requested_.size()),
        missing_(requested_.size()) {}

  // Returns the callback for the i-th called partition. It must be called once.
  Done<T> Slot(size_t i) {
    return [self = this->shared_from_this(), i](Result<T> answer) { self->Put(i, std::move(answer)); };
  }
  // Returns the callback of the i-th called partition for calls that return only a status; T is then Nothing.
  DoneStatus StatusSlot(size_t i) {
    return [self = this->shared_from_this(), i](Status status) {
      self->Put(i, status.ok() ? Result<T>(T{}) : Result<T>(std::move(status)));
    };
  }

  // Returns all responses in the order of `requested`, or the first error, which names its partition. DeadlineExceeded
  // names a partition that has not responded. Cancelled: the deadline's stop was requested.
  Result<std::vector<T>> Wait(Deadline deadline) {
    MutexLock lock(&mutex_);
    mutex_.AwaitBefore(deadline,
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0 || !error_.ok(); });
    return TakeResult(deadline);
  }

  // Like Wait, but waits until all partitions have responded, even after an error, so that no change is still running
  // when the caller continues. `deadline` is the deadline of the calls; the wait ends at most kLateAnswers later.
  Result<std::vector<T>> WaitForAll(Deadline deadline) {
    MutexLock lock(&mutex_);
    mutex_.AwaitBefore(deadline.WithoutStop().Plus(kLateAnswers),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0; });
    return TakeResult(deadline);
  }
  // Like WaitForAll, but without a time limit, for calls that write to the caller's memory. The calls end at their own
  // deadlines.
  Result<std::vector<T>> WaitForAllUnbounded(const Deadline& deadline) {
    MutexLock lock(&mutex_);
    mutex_.Await([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return missing_ == 0; });
    return TakeResult(deadline);
  }

 private:
  static constexpr std::chrono::seconds kLateAnswers{10};

  Result<std::vector<T>> TakeResult(const Deadline& deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!error_.ok()) return error_;
    std::vector<T> values;
    values.reserve(answers_.size());
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!answers_[i].has_value()) {
        return WaitEnded(deadline, "partition " + std::to_string(requested_[i].value) + " did not answer in time");
      }
      values.push_back(*std::move(answers_[i]));
    }
    return values;
  }

  void Put(size_t i, Result<T> answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    --missing_;
    if (answer.ok()) {
      answers_[i] = *std::move(answer);
    } else if (error_.ok()) {
      error_ = std::move(answer).status().While("partition " + std::to_string(requested_[i].value));
    }
  }

  const std::vector<PartitionId> requested_;
  const std::shared_ptr<const void> kept_alive_;
  Mutex mutex_;
  std::vector<std::optional<T>> answers_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_);
  Status error_ ABSL_GUARDED_BY(mutex_);
};

// The response of a call that returns only a status.
struct Nothing {};

}  // namespace espalier::sampler
