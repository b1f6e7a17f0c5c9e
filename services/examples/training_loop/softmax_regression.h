// A model that needs no library: a node's class by softmax regression on its features beside the mean of its sampled
// in-neighbours'.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/base/tensor.h"
#include "espalier/sampler/batches/mini_batch.h"

namespace example {

struct Batch {
  espalier::sampler::MiniBatch blocks;  // one layer, one relation
  espalier::Tensor features;            // F32 [nodes, F]  of the seeds, then of their in-neighbours
  espalier::Tensor labels;              // I64 [seeds]
};

// What a share of a batch adds up to. Shares may be empty, and those of all ranks are added.
struct Sums {
  // F64 [C * (2 F + 1) + 2]: the gradient of the loss by weight, the loss, and how many were classified rightly
  std::vector<double> values;
  double loss() const { return values[values.size() - 2]; }
  double right() const { return values.back(); }
};

// C classes of nodes with F features. Owned by one thread.
class SoftmaxRegression {
 public:
  SoftmaxRegression(int64_t num_features, int64_t num_classes);

  // The labels are below C.
  Sums Look(const Batch& batch) const;
  // One step of gradient descent on the mean over `num_seeds`, which `sums` was added up over.
  void Step(const Sums& sums, double num_seeds, double learning_rate);

  std::vector<double>& weights() { return weights_; }  // [C, 2 F + 1], a row a class, the last is the bias

 private:
  std::vector<double> MakeInput(const Batch& batch, uint32_t seed) const;  // [2 F + 1]

  const size_t num_features_, num_classes_, width_;
  std::vector<double> weights_;
};

}  // namespace example
