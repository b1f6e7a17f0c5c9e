// A model without a math library: softmax regression of a node's class on its features, concatenated with the mean
// features of its sampled in-neighbors.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/base/tensor.h"
#include "espalier/sampler/batches/mini_batch.h"

namespace example {

struct Batch {
  espalier::sampler::MiniBatch blocks;  // one layer, one relation
  espalier::Tensor features;            // F32 [nodes, F]  of the seeds, then of their in-neighbors
  espalier::Tensor labels;              // I64 [seeds]
};

// Sums over one rank's share of a batch, which may be empty. The sums of all ranks are added by an all-reduce.
struct Sums {
  // [C * (2 F + 1) + 2]: the gradient of the loss with respect to the weights, the loss, and the number of correctly
  // classified seeds
  std::vector<double> values;
  double loss() const { return values[values.size() - 2]; }
  double num_correct() const { return values.back(); }
};

// A model for nodes with F features and C classes. Not thread-safe.
class SoftmaxRegression {
 public:
  SoftmaxRegression(int64_t num_features, int64_t num_classes);

  // Returns the sums over the seeds of `batch`, whose labels must be in [0, C).
  Sums ComputeSums(const Batch& batch) const;
  // Takes one step of gradient descent. `sums` are the sums over all ranks, num_seeds the number of their seeds.
  void Step(const Sums& sums, double num_seeds, double learning_rate);

  std::vector<double>& weights() { return weights_; }  // [C, 2 F + 1]; the last column is the bias

 private:
  std::vector<double> MakeInput(const Batch& batch, uint32_t seed) const;  // [2 F + 1]

  const size_t num_features_, num_classes_, width_;
  std::vector<double> weights_;
};

}  // namespace example
