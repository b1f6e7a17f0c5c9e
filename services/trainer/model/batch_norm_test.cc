// Batch normalization compared with torch's on one rank, and three ranks compared with one rank that has all rows.
#include "services/trainer/model/batch_norm.h"

#include <gtest/gtest.h>

#include <thread>

#include "services/collective/in_process_collective.h"
#include "services/trainer/model/collective_error.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

void SetAffine(BatchNorm& norm, int64_t width) {
  torch::NoGradGuard no_gradient;
  norm->named_parameters()["weight"].copy_(RandomMatrix(21, 1, width)[0] + 2);
  norm->named_parameters()["bias"].copy_(RandomMatrix(22, 1, width)[0]);
}

struct Pass {
  torch::Tensor y, x_gradient, weight_gradient, bias_gradient, running_mean, running_variance;
};

// Returns the results of a forward and a backward pass over some rows of a batch.
Pass PassOver(const torch::Tensor& rows, const torch::Tensor& weights, collective::Collective* collective) {
  BatchNorm norm(rows.size(1));
  SetAffine(norm, rows.size(1));
  torch::Tensor x = rows.clone().requires_grad_();
  const LayerRun run{.training = true, .collective = collective};
  const torch::Tensor y = norm->forward(x, run);
  (y * y * weights).sum().backward();
  return {y.detach(),
          x.grad(),
          norm->named_parameters()["weight"].grad(),
          norm->named_parameters()["bias"].grad(),
          norm->named_buffers()["running_mean"],
          norm->named_buffers()["running_var"]};
}

TEST(BatchNormTest, OperationsOfTorchAgreeWithTheKernels) {
  const torch::Tensor rows = RandomMatrix(1, 600, 7) * 3 + 1, weights = RandomMatrix(2, 600, 7);
  const Pass by_kernels = PassOver(rows, weights, nullptr);
  const TorchPathScope torch_path;
  const Pass by_torch = PassOver(rows, weights, nullptr);
  EXPECT_TRUE(torch::allclose(by_torch.y, by_kernels.y, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(by_torch.x_gradient, by_kernels.x_gradient, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(by_torch.weight_gradient, by_kernels.weight_gradient, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(by_torch.bias_gradient, by_kernels.bias_gradient, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(by_torch.running_mean, by_kernels.running_mean, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(by_torch.running_variance, by_kernels.running_variance, 1e-5, 1e-6));
}

TEST(BatchNormTest, SingleTrainerMatchesTorch) {
  const torch::Tensor rows = RandomMatrix(1, 600, 7) * 3 + 1, weights = RandomMatrix(2, 600, 7);
  const Pass ours = PassOver(rows, weights, nullptr);

  BatchNorm affine(7);
  SetAffine(affine, 7);
  torch::nn::BatchNorm1d torchs(7);
  {
    torch::NoGradGuard no_gradient;
    torchs->weight.copy_(affine->named_parameters()["weight"]);
    torchs->bias.copy_(affine->named_parameters()["bias"]);
  }
  torch::Tensor x = rows.clone().requires_grad_();
  const torch::Tensor y = torchs->forward(x);
  (y * y * weights).sum().backward();

  EXPECT_TRUE(torch::allclose(ours.y, y, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(ours.x_gradient, x.grad(), 1e-3, 1e-4));
  EXPECT_TRUE(torch::allclose(ours.weight_gradient, torchs->weight.grad(), 1e-3, 1e-3));
  EXPECT_TRUE(torch::allclose(ours.bias_gradient, torchs->bias.grad(), 1e-3, 1e-3));
  EXPECT_TRUE(torch::allclose(ours.running_mean, torchs->running_mean));
  EXPECT_TRUE(torch::allclose(ours.running_variance, torchs->running_var));
}

// The ranks have 350, 0 and 250 rows of the batch.
TEST(BatchNormTest, ThreeTrainersMatchOneWithJoinedBatch) {
  const torch::Tensor rows = RandomMatrix(1, 600, 5) * 2 - 3, weights = RandomMatrix(2, 600, 5);
  const std::vector<int64_t> shares = {350, 0, 250};
  const std::vector<torch::Tensor> rows_of = rows.split_with_sizes(shares),
                                   weights_of = weights.split_with_sizes(shares);
  const auto group = collective::MakeInProcessGroup(3);
  std::vector<Pass> passes(3);
  {
    std::vector<std::jthread> ranks;
    for (size_t rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] { passes[rank] = PassOver(rows_of[rank], weights_of[rank], group[rank].get()); });
    }
  }
  const Pass joined = PassOver(rows, weights, nullptr);

  EXPECT_TRUE(torch::allclose(torch::cat({passes[0].y, passes[1].y, passes[2].y}), joined.y, 1e-5, 1e-5));
  EXPECT_TRUE(torch::allclose(torch::cat({passes[0].x_gradient, passes[1].x_gradient, passes[2].x_gradient}),
                              joined.x_gradient, 1e-4, 1e-5));
  const torch::Tensor weight_gradient =
      passes[0].weight_gradient + passes[1].weight_gradient + passes[2].weight_gradient;
  EXPECT_TRUE(torch::allclose(weight_gradient, joined.weight_gradient, 1e-4, 1e-4));
  for (const Pass& pass : passes) {
    EXPECT_TRUE(torch::equal(pass.running_mean, passes[0].running_mean));
    EXPECT_TRUE(torch::allclose(pass.running_variance, joined.running_variance));
  }
}

TEST(BatchNormTest, GradientsMatchFiniteDifferences) {
  torch::Tensor x = RandomMatrix(3, 20, 4).requires_grad_();
  BatchNorm norm(4);
  SetAffine(norm, 4);
  ExpectGradientOfFiniteDifferences("input", x, [&] {
    const torch::Tensor y = norm->forward(x, {.training = true});
    return WeightedSum(y * y * y);
  });
}

TEST(BatchNormTest, InferenceUsesTheRunningStatistics) {
  BatchNorm norm(3);
  const torch::Tensor rows = RandomMatrix(4, 500, 3) * 5 + 2;
  for (int i = 0; i < 200; ++i) norm->forward(rows, {.training = true});

  const torch::Tensor one_row = norm->forward(rows.narrow(0, 0, 1), {.training = false});

  EXPECT_TRUE(torch::allclose(one_row[0], norm->forward(rows, {.training = true})[0], 1e-2, 1e-2));
}

TEST(BatchNormTest, AFailedCollectiveIsThrownWithItsStatus) {
  auto group = collective::MakeInProcessGroup(2);
  group[1].reset();
  BatchNorm norm(3);
  try {
    norm->forward(torch::ones({2, 3}), {.training = true, .collective = group[0].get()});
    FAIL() << "expected a CollectiveError";
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.status().code(), StatusCode::kUnavailable) << error.what();
  }
}

}  // namespace
}  // namespace espalier::trainer
