// One step of a sparse optimizer on one learnable row: pure arithmetic in F32, in a fixed order.
//
// With gradient g (weight decay added first; AdamW instead multiplies w by 1 - r * weight decay), rate r, and t = 1, 2,
// ..., which counts the steps of the whole tensor, not of the row, as in torch.optim.SparseAdam:
//
//   SGD               w -= r g
//   Adagrad           s += g g                        w -= r g / (sqrt(s) + eps)
//   row-wise Adagrad  s += mean over the row of g g   w -= r g / (sqrt(s) + eps)
//   Adam, AdamW       m = b1 m + (1 - b1) g           w -= r / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
//                     v = b2 v + (1 - b2) g g
//
// Adam's epsilon is placed as in torch.optim.Adam. SparseAdam adds it before the correction of v, so there its
// effect is 1 / sqrt(1 - b2^t) times as large.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/sampler/access/sparse_optimizer.h"

namespace espalier::shard {

// Returns the initial value of all elements of a row's optimizer state (sampler::StateWidth).
float InitialState(const sampler::SparseOptimizer& optimizer);

// The constants of one step. Thread-safe: immutable after construction.
class RowUpdate {
 public:
  // `step`: 1 for the first. `optimizer` has been checked (CheckSparseOptimizer).
  RowUpdate(const sampler::SparseOptimizer& optimizer, size_t width, double learning_rate, uint64_t step);

  // weights [width], state [sampler::StateWidth], gradient [width]: F32, none overlapping another.
  void Apply(float* weights, float* state, const float* gradient) const;

  size_t width() const { return width_; }

 private:
  void Sgd(float* weights, const float* gradient) const;
  void Adagrad(float* weights, float* state, const float* gradient) const;
  void RowWiseAdagrad(float* weights, float* state, const float* gradient) const;
  void Adam(float* weights, float* state, const float* gradient) const;

  const sampler::SparseOptimizerType type_;
  const size_t width_;
  float rate_ = 0;    // Adam: includes the correction of m
  float decay_ = 0;   // decay_ * w is added to the gradient
  float shrink_ = 1;  // AdamW: factor of w
  float epsilon_ = 0;
  float beta1_ = 0, beta2_ = 0;  // Adam
  float rest1_ = 0, rest2_ = 0;  // 1 - beta
  float root_correction_ = 1;    // sqrt(1 - b2^t)
};

}  // namespace espalier::shard
