// Ranks register their operands with a shared Group and wait. The last rank to arrive executes the operation for all
// ranks while it holds the mutex. A mismatch, a missed deadline, an error of a polled function or a rank that leaves
// the group sets `error_`, after which every operation fails.
#include "services/collective/in_process_collective.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "services/base/mutex.h"
#include "services/base/wait_ended.h"

namespace espalier::collective {
namespace {

enum class Operation { kSumFloat, kSumDouble, kBroadcast, kAllGather, kBarrier, kAllDone };

// Operands of one rank. The memory stays valid until the operation has ended, because the rank waits for it.
struct Contribution {
  Operation operation = Operation::kBarrier;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  size_t input_bytes = 0;
  uint32_t root = 0;
};

bool AreCompatible(const Contribution& a, const Contribution& b) {
  return a.operation == b.operation && a.input_bytes == b.input_bytes && a.root == b.root;
}

template <class T>
void SumInRankOrder(const std::vector<Contribution>& ranks) {
  const size_t count = ranks[0].input_bytes / sizeof(T);
  std::vector<T> sum(count);
  if (count == 0) return;
  std::memcpy(sum.data(), ranks[0].input, ranks[0].input_bytes);
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const T* values = reinterpret_cast<const T*>(ranks[rank].input);
    for (size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  for (const Contribution& rank : ranks) std::memcpy(rank.output, sum.data(), rank.input_bytes);
}

void Combine(const std::vector<Contribution>& ranks) {
  const size_t bytes = ranks[0].input_bytes;
  switch (ranks[0].operation) {
    case Operation::kSumFloat: return SumInRankOrder<float>(ranks);
    case Operation::kSumDouble: return SumInRankOrder<double>(ranks);
    case Operation::kBroadcast:
      for (const Contribution& rank : ranks) {
        if (bytes > 0 && &rank != &ranks[rank.root]) std::memcpy(rank.output, ranks[rank.root].input, bytes);
      }
      return;
    case Operation::kAllGather:
      for (const Contribution& to : ranks) {
        for (size_t from = 0; bytes > 0 && from < ranks.size(); ++from) {
          std::memcpy(to.output + from * bytes, ranks[from].input, bytes);
        }
      }
      return;
    case Operation::kBarrier:
    case Operation::kAllDone: return;
  }
}

// State shared by the ranks. Thread-safe.
class Group {
 public:
  explicit Group(uint32_t size) : size_(size), contributions_(size) {}

  uint32_t size() const { return size_; }

  Status Run(uint32_t rank, Contribution contribution, Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (!reported_[rank].ok()) return reported_[rank].While("the process group has failed");
    if (!error_.ok()) return ReportError(rank, error_);
    contributions_[rank] = contribution;
    const uint64_t operation = num_operations_;
    if (++num_arrived_ == size_) {
      ExecuteOperation();
      return error_.ok() ? Status() : ReportError(rank, error_);
    }
    mutex_.AwaitBefore(
        deadline, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_operations_ > operation || !error_.ok(); });
    if (num_operations_ > operation) return Status();
    if (error_.ok()) {
      error_ = Aborted("rank " + std::to_string(rank) + " stopped waiting while " +
                       std::to_string(size_ - num_arrived_) + " of " + std::to_string(size_) + " ranks were missing");
      return ReportError(rank, WaitEnded(deadline, error_.message()));
    }
    return ReportError(rank, error_);
  }

  // Calls `is_done` without the lock until it returns true or an error. Fails as Run does.
  Status Poll(uint32_t rank, const std::function<Result<bool>()>& is_done, const Deadline& deadline)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    for (;;) {
      const Result<bool> done = is_done();
      MutexLock lock(&mutex_);
      if (!reported_[rank].ok()) return reported_[rank].While("the process group has failed");
      if (!error_.ok()) return ReportError(rank, error_);
      if (!done.ok()) {
        error_ = Unavailable("rank " + std::to_string(rank) + " failed: " + done.status().message());
        return ReportError(rank, done.status());
      }
      if (*done) return Status();
      mutex_.AwaitBefore(deadline.AtMost(std::chrono::milliseconds(1)),
                         [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !error_.ok(); });
      if (error_.ok() && (deadline.HasPassed() || deadline.stop().stop_requested())) {
        error_ = Aborted("rank " + std::to_string(rank) + " stopped waiting before its operation had ended");
        return ReportError(rank, WaitEnded(deadline, error_.message()));
      }
    }
  }

  void Leave(uint32_t rank) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (error_.ok()) error_ = Unavailable("rank " + std::to_string(rank) + " left the group");
    if (reported_[rank].ok()) reported_[rank] = error_;
  }

 private:
  void ExecuteOperation() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (uint32_t rank = 1; rank < size_; ++rank) {
      if (AreCompatible(contributions_[0], contributions_[rank])) continue;
      error_ = InvalidArgument("ranks 0 and " + std::to_string(rank) + " called different operations or sizes");
      return;
    }
    Combine(contributions_);
    num_arrived_ = 0;
    ++num_operations_;
  }

  // Returns `error`, and records it if it is the first error that the rank returns.
  Status ReportError(uint32_t rank, const Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (reported_[rank].ok()) reported_[rank] = error;
    return error;
  }

  const uint32_t size_;
  Mutex mutex_;
  std::vector<Contribution> contributions_ ABSL_GUARDED_BY(mutex_);
  // By rank: the first error that an operation of the rank returned, or the group's error if the rank has left without
  // one; OK if neither.
  std::vector<Status> reported_ ABSL_GUARDED_BY(mutex_) = std::vector<Status>(size_);
  uint32_t num_arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t num_operations_ ABSL_GUARDED_BY(mutex_) = 0;
  Status error_ ABSL_GUARDED_BY(mutex_);
};

class InProcessCollective final : public Collective {
 public:
  InProcessCollective(std::shared_ptr<Group> group, uint32_t rank) : group_(std::move(group)), rank_(rank) {}
  ~InProcessCollective() override { group_->Leave(rank_); }

  Rank rank() const override { return Rank(rank_); }
  uint32_t size() const override { return group_->size(); }
  const char* backend() const override { return "InProcess"; }

  Status AllReduceSum(std::span<float> values, Deadline deadline) override {
    return InPlace(Operation::kSumFloat, std::as_writable_bytes(values), 0, deadline);
  }
  Status AllReduceSum(std::span<double> values, Deadline deadline) override {
    return InPlace(Operation::kSumDouble, std::as_writable_bytes(values), 0, deadline);
  }
  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    ESPALIER_CHECK(root.value < size()) << "root " << root.value << " of a group of " << size();
    return InPlace(Operation::kBroadcast, bytes, root.value, deadline);
  }
  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override {
    std::vector<std::byte> all(bytes.size() * size());
    RETURN_IF_ERROR(group_->Run(rank_, {Operation::kAllGather, bytes.data(), all.data(), bytes.size(), 0}, deadline));
    return all;
  }
  Status Barrier(Deadline deadline) override { return InPlace(Operation::kBarrier, {}, 0, deadline); }
  Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) override {
    RETURN_IF_ERROR(group_->Poll(rank_, is_done, deadline));
    return InPlace(Operation::kAllDone, {}, 0, deadline);
  }
  void Abandon() override { group_->Leave(rank_); }

 private:
  Status InPlace(Operation operation, std::span<std::byte> bytes, uint32_t root, Deadline deadline) {
    return group_->Run(rank_, {operation, bytes.data(), bytes.data(), bytes.size(), root}, deadline);
  }

  const std::shared_ptr<Group> group_;
  const uint32_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Collective>> MakeInProcessGroup(uint32_t size) {
  ESPALIER_CHECK(size > 0) << "a group needs a rank";
  auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Collective>> ranks;
  for (uint32_t rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<InProcessCollective>(group, rank));
  return ranks;
}

}  // namespace espalier::collective
