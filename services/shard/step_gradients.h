// What the trainers have sent for one step, until all of it is there.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "services/sampler/partition_embeddings.h"
#include "services/shard/sparse_step.h"

namespace espalier::shard {

// Thread-compatible.
class StepGradients {
 public:
  explicit StepGradients(uint32_t num_trainers) : num_trainers_(num_trainers) {}

  // A piece that was taken before changes nothing. InvalidArgument, and nothing changed, for a rank or a piece that
  // cannot be, and for another learning rate than that of the pieces before. Its rows and gradients have been checked.
  Status Add(sampler::GradientPiece piece);

  bool IsComplete() const { return num_complete_ == num_trainers_; }
  double learning_rate() const { return learning_rate_; }
  uint64_t SizeBytes() const { return size_bytes_; }
  // What a piece comes to while it waits, an empty one too.
  static uint64_t SizeBytesOf(const sampler::GradientPiece& piece);
  uint64_t NumGradients() const { return num_gradients_; }
  // In the order of ranks, and of each rank's pieces. Points into this object.
  std::vector<RowGradients> InOrder() const;

 private:
  struct OfRank {
    uint32_t num_pieces = 0;
    std::map<uint32_t, sampler::GradientPiece> pieces;
  };

  const uint32_t num_trainers_;
  std::map<uint32_t, OfRank> ranks_;  // of those that have sent something
  uint32_t num_complete_ = 0;
  bool has_rate_ = false;
  double learning_rate_ = 0;
  uint64_t size_bytes_ = 0;
  uint64_t num_gradients_ = 0;
};

}  // namespace espalier::shard
