// Helpers for model tests: seeded matrices and blocks, and checks of gradients by finite differences.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "services/base/philox.h"
#include "services/kernels/segments.h"
#include "services/sampler/batches/mini_batch.h"

namespace espalier::trainer {

// Returns f32 [rows, columns], uniform in [-1, 1).
inline torch::Tensor RandomMatrix(uint64_t seed, int64_t rows, int64_t columns) {
  PhiloxStream random(seed, 1);
  torch::Tensor matrix = torch::empty({rows, columns});
  for (int64_t i = 0; i < matrix.numel(); ++i) matrix.data_ptr<float>()[i] = 2 * random.NextUnitFloat() - 1;
  return matrix;
}

// Returns a block with in-degrees of 0 .. max_degree and sources in [0, num_sources), which may repeat.
inline sampler::Block RandomBlock(uint64_t seed, uint32_t num_destinations, uint32_t num_sources, uint32_t max_degree) {
  PhiloxStream random(seed, 2);
  sampler::Block block;
  block.indptr.push_back(0);
  for (uint32_t i = 0; i < num_destinations; ++i) {
    for (uint32_t left = num_sources == 0 ? 0 : random.NextBelow(max_degree + 1); left > 0; --left) {
      block.indices.push_back(random.NextBelow(num_sources));
    }
    block.indptr.push_back(static_cast<uint32_t>(block.indices.size()));
  }
  return block;
}

inline kernels::Segments View(const sampler::Block& block) { return {block.indptr, block.indices}; }

// Returns a sum in which every element has another weight, as a scalar for tests to differentiate.
inline torch::Tensor WeightedSum(const torch::Tensor& values, uint64_t seed = 99) {
  return (values * RandomMatrix(seed, values.size(0), values.size(1))).sum();
}

// Compares autograd's gradient of `scalar` with respect to `x` (f32) with central differences along random directions.
inline void ExpectGradientOfFiniteDifferences(const std::string& what, torch::Tensor x,
                                              const std::function<torch::Tensor()>& scalar, double step = 1e-2,
                                              double tolerance = 2e-2) {
  x.mutable_grad() = torch::Tensor();
  scalar().backward();
  ASSERT_TRUE(x.grad().defined()) << what;
  const torch::Tensor gradient = x.grad().clone();
  torch::NoGradGuard no_gradient;
  const torch::Tensor start = x.detach().clone();
  for (uint64_t direction = 0; direction < 4; ++direction) {
    const torch::Tensor along = RandomMatrix(direction + 7, 1, x.numel()).view(x.sizes());
    x.copy_(start + step * along);
    const double above = scalar().item<double>();
    x.copy_(start - step * along);
    const double below = scalar().item<double>();
    x.copy_(start);
    const double slope = (above - below) / (2 * step), expected = (gradient * along).sum().item<double>();
    EXPECT_NEAR(slope, expected, tolerance * (1.0 + std::abs(expected))) << what << ", direction " << direction;
  }
}

// Sets torch's number of threads for a scope.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  const int before_;
};

}  // namespace espalier::trainer
