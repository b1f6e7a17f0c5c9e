// The gradients that trainers have sent for one step of one embedding, until all have arrived.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "services/sampler/access/partition_embeddings.h"
#include "services/shard/byte_budget.h"
#include "services/shard/sparse_step.h"

namespace espalier::shard {

// Not thread-safe.
class StepGradients {
 public:
  // `budget` limits the bytes of the gradients that wait for this step, of all embeddings of the partition together.
  // The destructor releases the bytes that this object has reserved in it.
  StepGradients(uint32_t num_trainers, std::shared_ptr<ByteBudget> budget)
      : num_trainers_(num_trainers), budget_(std::move(budget)) {}
  ~StepGradients() { budget_->Release(size_bytes_); }
  StepGradients(const StepGradients&) = delete;
  StepGradients& operator=(const StepGradients&) = delete;

  // Adds a piece. If the piece was added before, changes nothing and returns OK. Errors also change nothing:
  // InvalidArgument for an impossible rank or piece number, another number of pieces than the rank announced before, or
  // a learning rate that is not finite or differs from that of earlier pieces by more than rounding; ResourceExhausted
  // if the budget is exceeded or the step would have 2^32 gradients. The caller has checked rows and gradients.
  Status Add(sampler::GradientPiece piece);

  bool IsComplete() const { return num_complete_ == num_trainers_; }
  bool HasAllPieces(Rank rank) const;
  // Returns the learning rate sent by the lowest rank that has sent a piece, regardless of the order of arrival.
  double learning_rate() const { return learning_rate_; }
  // Returns the gradients ordered by rank and piece. The spans point into this object.
  std::vector<RowGradients> GetOrdered() const;

 private:
  struct RankGradients {
    uint32_t num_pieces = 0;
    std::map<uint32_t, sampler::GradientPiece> pieces;
  };

  const uint32_t num_trainers_;
  const std::shared_ptr<ByteBudget> budget_;
  std::map<uint32_t, RankGradients> ranks_;  // of the ranks that have sent something
  uint32_t num_complete_ = 0;
  double learning_rate_ = 0;
  uint64_t size_bytes_ = 0;
  uint64_t num_gradients_ = 0;
};

}  // namespace espalier::shard
