// What the trainers have sent for one step, until all of it is there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "services/sampler/access/partition_embeddings.h"
#include "services/shard/byte_budget.h"
#include "services/shard/sparse_step.h"

namespace espalier::shard {

// Thread-compatible.
class StepGradients {
 public:
  // `budget`: of all that waits on a partition for this step; this gives back what it has taken.
  StepGradients(uint32_t num_trainers, std::shared_ptr<ByteBudget> budget)
      : num_trainers_(num_trainers), budget_(std::move(budget)) {}
  ~StepGradients() { budget_->Give(size_bytes_); }
  StepGradients(const StepGradients&) = delete;
  StepGradients& operator=(const StepGradients&) = delete;

  // A piece that was taken before changes nothing, whatever the budget has left. InvalidArgument, and nothing changed,
  // for a rank or a piece that cannot be, and for a learning rate that is not, but for the last bits, that of the
  // pieces before; ResourceExhausted where the budget has no room. Its rows and gradients have been checked.
  Status Add(sampler::GradientPiece piece);

  bool IsComplete() const { return num_complete_ == num_trainers_; }
  bool HasAllPieces(Rank rank) const;
  // Of the lowest rank, whoever came first.
  double learning_rate() const { return learning_rate_; }
  // In the order of ranks, and of each rank's pieces. Points into this object.
  std::vector<RowGradients> InOrder() const;

 private:
  struct OfRank {
    uint32_t num_pieces = 0;
    std::map<uint32_t, sampler::GradientPiece> pieces;
  };

  const uint32_t num_trainers_;
  const std::shared_ptr<ByteBudget> budget_;
  std::map<uint32_t, OfRank> ranks_;  // of those that have sent something
  uint32_t num_complete_ = 0;
  double learning_rate_ = 0;
  uint64_t size_bytes_ = 0;
  uint64_t num_gradients_ = 0;
};

}  // namespace espalier::shard
