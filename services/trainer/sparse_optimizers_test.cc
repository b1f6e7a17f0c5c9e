// Compares the graph servers' sparse optimizers step by step with libtorch: with dense optimizers if every row has a
// gradient in every step, and with the formula of torch.optim.SparseAdam if rows have gradients only in some steps.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "services/shard/sparse_step.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

using sampler::SparseOptimizer;
using sampler::SparseOptimizerType;
constexpr int64_t kRows = 6, kRowWidth = 11;

std::vector<LocalRowId> AllRows() {
  std::vector<LocalRowId> rows;
  for (uint32_t row = 0; row < kRows; ++row) rows.emplace_back(row);
  return rows;
}

// Rows on their owner, updated by a sparse optimizer.
class OwnedRows {
 public:
  OwnedRows(const SparseOptimizer& optimizer, const torch::Tensor& initial) : optimizer_(optimizer) {
    const auto width = static_cast<int64_t>(kRowWidth + sampler::StateWidth(optimizer.type, kRowWidth));
    records_ = torch::full({kRows, width}, shard::InitialState(optimizer));
    records_.narrow(1, 0, kRowWidth).copy_(initial);
  }
  // Applies one step with `gradient`, f32 [rows.size(), kRowWidth].
  void Step(const std::vector<LocalRowId>& rows, const torch::Tensor& gradient, double rate) {
    const auto stride = static_cast<size_t>(records_.size(1));
    float* const first = records_.data_ptr<float>();
    const shard::LearnableTable table{.num_rows = kRows,
                                      .width = kRowWidth,
                                      .state_width = stride - kRowWidth,
                                      .weights = {first, stride},
                                      .state = {first + kRowWidth, stride}};
    const shard::RowGradients gradients{rows, gradient.data_ptr<float>()};
    apply_.Apply(shard::RowUpdate(optimizer_, kRowWidth, rate, ++step_), optimizer_.duplicates, table,
                 std::span(&gradients, 1));
  }
  torch::Tensor weights() const { return records_.narrow(1, 0, kRowWidth); }

 private:
  const SparseOptimizer optimizer_;
  uint64_t step_ = 0;
  torch::Tensor records_;
  shard::SparseStep apply_;
};

using MakeTorchs = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;

void ExpectDenseSteps(const SparseOptimizer& optimizer, const MakeTorchs& make_torchs) {
  const torch::Tensor initial = RandomMatrix(1, kRows, kRowWidth);
  OwnedRows ours(optimizer, initial);
  torch::Tensor theirs = initial.clone().requires_grad_();
  const auto torchs = make_torchs({theirs});
  for (uint64_t step = 0; step < 40; ++step) {
    const double rate = 0.1 / static_cast<double>(1 + step % 7);
    const torch::Tensor gradient = RandomMatrix(100 + step, kRows, kRowWidth);
    ours.Step(AllRows(), gradient, rate);
    theirs.mutable_grad() = gradient.clone();
    torchs->param_groups()[0].options().set_lr(rate);
    torchs->step();
    ASSERT_TRUE(torch::allclose(ours.weights(), theirs.detach(), 1e-5, 1e-6)) << "step " << step;
  }
  EXPECT_FALSE(torch::allclose(ours.weights(), initial, 0.1, 0.1)) << "the test moves nothing";
}

TEST(SparseOptimizersTest, SgdMatchesTorch) {
  for (const double decay : {0.0, 0.02}) {
    ExpectDenseSteps({.type = SparseOptimizerType::kSgd, .weight_decay = decay}, [&](auto parameters) {
      return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(0.1).weight_decay(decay));
    });
  }
}

TEST(SparseOptimizersTest, AdagradMatchesTorch) {
  for (const double accumulator : {0.0, 0.5}) {
    const SparseOptimizer options{
        .type = SparseOptimizerType::kAdagrad, .weight_decay = 0.02, .initial_accumulator = accumulator};
    ExpectDenseSteps(options, [&](auto parameters) {
      return std::make_unique<torch::optim::Adagrad>(
          parameters,
          torch::optim::AdagradOptions(0.1).weight_decay(0.02).initial_accumulator_value(accumulator).eps(1e-10));
    });
  }
}

TEST(SparseOptimizersTest, AdamMatchesTorch) {
  ExpectDenseSteps({.type = SparseOptimizerType::kAdam, .weight_decay = 0.02}, [](auto parameters) {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.1).weight_decay(0.02));
  });
}

TEST(SparseOptimizersTest, AdamWMatchesTorch) {
  const SparseOptimizer options{.type = SparseOptimizerType::kAdamW, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.99};
  ExpectDenseSteps(options, [](auto parameters) {
    return std::make_unique<torch::optim::AdamW>(parameters,
                                                 torch::optim::AdamWOptions(0.1).weight_decay(0.1).betas({0.8, 0.99}));
  });
}

// With gradients so small that epsilon determines the step. The default epsilon must be that of torch.
TEST(SparseOptimizersTest, EpsilonDefaultsToTorch) {
  const auto expect_torchs = [](const SparseOptimizer& optimizer, const MakeTorchs& make_torchs) {
    const torch::Tensor initial = torch::zeros({kRows, kRowWidth});
    OwnedRows ours(optimizer, initial);
    torch::Tensor theirs = initial.clone().requires_grad_();
    const torch::Tensor slope = torch::full({kRows, kRowWidth}, 1e-9f);
    ours.Step(AllRows(), slope, 0.1);
    theirs.mutable_grad() = slope.clone();
    make_torchs({theirs})->step();
    EXPECT_TRUE(torch::allclose(ours.weights(), theirs.detach(), 1e-3, 0))
        << ours.weights()[0][0].item<float>() << " beside torch's " << theirs[0][0].item<float>();
  };
  expect_torchs({.type = SparseOptimizerType::kAdagrad}, [](auto parameters) {
    return std::make_unique<torch::optim::Adagrad>(parameters, torch::optim::AdagradOptions(0.1));
  });
  expect_torchs({.type = SparseOptimizerType::kAdam}, [](auto parameters) {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.1));
  });
  expect_torchs({.type = SparseOptimizerType::kAdamW}, [](auto parameters) {
    return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(0.1).weight_decay(0));
  });
  expect_torchs({.type = SparseOptimizerType::kAdam, .epsilon = 1e-6}, [](auto parameters) {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.1).eps(1e-6));
  });
}

// Row-wise Adagrad has no counterpart in libtorch, so its formula is computed with torch operations.
TEST(SparseOptimizersTest, RowWiseAdagradKeepsTheMeanSquareOfRows) {
  const torch::Tensor initial = RandomMatrix(1, kRows, kRowWidth);
  OwnedRows ours({.type = SparseOptimizerType::kRowWiseAdagrad, .epsilon = 1e-8}, initial);
  torch::Tensor weights = initial.clone(), sums = torch::zeros({kRows, 1});
  for (uint64_t step = 0; step < 40; ++step) {
    const torch::Tensor gradient = RandomMatrix(100 + step, kRows, kRowWidth);
    ours.Step(AllRows(), gradient, 0.1);
    sums += gradient.square().mean(1, /*keepdim=*/true);
    weights -= 0.1 * gradient / (sums.sqrt() + 1e-8);
    ASSERT_TRUE(torch::allclose(ours.weights(), weights, 1e-5, 1e-6)) << "step " << step;
  }
}

// sparse_adam in torch/optim/_functional.py has one step counter for the tensor and updates only the moments of rows
// with gradients. It adds epsilon before the bias correction of v; with 1e-12 the difference is below the tolerance.
TEST(SparseOptimizersTest, AdamMatchesTorchSparseAdam) {
  const torch::Tensor initial = RandomMatrix(1, kRows, kRowWidth);
  OwnedRows ours({.type = SparseOptimizerType::kAdam, .epsilon = 1e-12}, initial);
  torch::Tensor weights = initial.clone(), m = torch::zeros_like(initial), v = torch::zeros_like(initial);
  const double beta1 = 0.9, beta2 = 0.999, rate = 0.05;
  for (int step = 1; step <= 40; ++step) {
    // One to six of the rows; every fifth step has no rows, but counts as a step.
    std::vector<LocalRowId> rows;
    std::vector<int64_t> indices;
    for (uint32_t row = 0; row < kRows; ++row) {
      if (step % 5 == 0 || (static_cast<uint32_t>(step) + row) % (row + 1) != 0) continue;
      rows.emplace_back(row);
      indices.push_back(row);
    }
    const torch::Tensor at = torch::tensor(indices, torch::kInt64);
    const torch::Tensor gradient =
        RandomMatrix(static_cast<uint64_t>(step), static_cast<int64_t>(rows.size()), kRowWidth);
    ours.Step(rows, gradient, rate);

    const torch::Tensor new_m = beta1 * m.index_select(0, at) + (1 - beta1) * gradient;
    const torch::Tensor new_v = beta2 * v.index_select(0, at) + (1 - beta2) * gradient.square();
    const double step_size = rate * std::sqrt(1 - std::pow(beta2, step)) / (1 - std::pow(beta1, step));
    m.index_copy_(0, at, new_m);
    v.index_copy_(0, at, new_v);
    weights.index_add_(0, at, -step_size * new_m / (new_v.sqrt() + 1e-12));
    ASSERT_TRUE(torch::allclose(ours.weights(), weights, 1e-5, 1e-6)) << "step " << step;
  }
}

// An id that occurs several times in a mini-batch is handled as by autograd.
TEST(SparseOptimizersTest, DuplicatesSumAsInAutograd) {
  const torch::Tensor initial = RandomMatrix(1, kRows, kRowWidth);
  const std::vector<LocalRowId> rows = {LocalRowId(4), LocalRowId(1), LocalRowId(4), LocalRowId(4)};
  const torch::Tensor ids = torch::tensor({4, 1, 4, 4}, torch::kInt64), upstream = RandomMatrix(2, 4, kRowWidth);
  for (const bool mean : {false, true}) {
    OwnedRows ours({.type = SparseOptimizerType::kSgd,
                    .duplicates = mean ? sampler::DuplicateGradients::kMean : sampler::DuplicateGradients::kSum},
                   initial);
    ours.Step(rows, upstream, 0.5);
    torch::Tensor table = initial.clone().requires_grad_();
    (table.index_select(0, ids) * upstream).sum().backward();
    torch::Tensor gradient = table.grad();
    if (mean) gradient = gradient / torch::tensor({1.f, 1.f, 1.f, 1.f, 3.f, 1.f}).unsqueeze(1);
    EXPECT_TRUE(torch::allclose(ours.weights(), initial - 0.5 * gradient, 1e-5, 1e-6));
  }
}

}  // namespace
}  // namespace espalier::trainer
