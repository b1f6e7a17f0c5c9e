// BiasReluDropout: values, masks and gradients.
#include "services/trainer/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "services/base/philox.h"
#include "services/kernels/dropout_half_words.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

DropoutPlan Plan(double probability, const std::vector<int64_t>& original_ids, uint64_t key = 17) {
  const auto rows = static_cast<int64_t>(original_ids.size());
  return {probability, {{0, rows, key, torch::tensor(original_ids, torch::kInt64)}}};
}
torch::Tensor Dropped(double probability, const std::vector<int64_t>& original_ids, int64_t width, uint64_t key = 17) {
  return BiasReluDropout(torch::ones({static_cast<int64_t>(original_ids.size()), width}), {},
                         Plan(probability, original_ids, key));
}

TEST(DropoutBitsTest, EqualHalfWordsOfPhilox) {
  for (const int64_t width : {1, 8, 32, 33, 256}) {
    std::vector<uint16_t> halves(static_cast<size_t>((width + 31) / 32 * 32));
    kernels::FillDropoutHalfWords(0x123456789ABCDEFull, 0xFEDCBA9876543210ull, width, halves.data());
    for (int64_t j = 0; j < width; ++j) {
      const auto words = Philox4x32(0x123456789ABCDEFull, static_cast<uint64_t>(j / 8), 0xFEDCBA9876543210ull);
      const uint32_t word = words[static_cast<size_t>(j % 8 / 2)];
      EXPECT_EQ(halves[static_cast<size_t>(j)], static_cast<uint16_t>(j % 2 == 0 ? word : word >> 16)) << j;
    }
  }
}

TEST(BiasReluDropoutTest, WithoutDropoutMatchesRelu) {
  const torch::Tensor x = RandomMatrix(1, 300, 19), bias = RandomMatrix(2, 1, 19)[0];
  EXPECT_TRUE(torch::equal(BiasReluDropout(x.clone(), bias, {}), torch::relu(x + bias)));
  EXPECT_TRUE(torch::equal(BiasReluDropout(x.clone(), {}, {}), torch::relu(x)));
}

// If a hidden layer replaced NaN by zeros, neither the loss nor any metric would show it.
TEST(BiasReluDropoutTest, KeepsNan) {
  torch::Tensor x = RandomMatrix(1, 3, 19), bias = torch::zeros({19});
  x[1][2] = NAN;
  x[2][18] = NAN;
  x.requires_grad_();
  const torch::Tensor y = BiasReluDropout(x * 1, bias, {});
  EXPECT_TRUE(torch::equal(y.isnan(), x.isnan()));
  EXPECT_TRUE(torch::equal(y.detach().nan_to_num(), torch::relu(x.detach().nan_to_num())));

  y.backward(torch::ones({3, 19}));
  EXPECT_TRUE(torch::equal(x.grad(), (~(x.detach() <= 0)).to(torch::kFloat32)));
  EXPECT_TRUE(BiasReluDropout(torch::zeros({2, 3}), torch::full({3}, NAN), {}).isnan().all().item<bool>());
}

TEST(BiasReluDropoutTest, WritesOverItsInput) {
  const torch::Tensor x = RandomMatrix(1, 3, 4);
  EXPECT_EQ(BiasReluDropout(x, {}, {}).data_ptr(), x.data_ptr());
}

TEST(BiasReluDropoutTest, DropsRequestedFractionAndScalesRest) {
  std::vector<int64_t> ids(2000);
  std::iota(ids.begin(), ids.end(), 0);
  for (const double probability : {0.1, 0.5, 0.9}) {
    const torch::Tensor y = Dropped(probability, ids, 100);
    EXPECT_NEAR((y == 0).to(torch::kFloat64).mean().item<double>(), probability, 0.005);
    EXPECT_NEAR(y.mean().item<double>(), 1.0, 0.02);
  }
}

TEST(BiasReluDropoutTest, MaskDependsOnNodeNotPosition) {
  const torch::Tensor forward = Dropped(0.5, {3, 1000, 7, 1ll << 40}, 70),
                      backward = Dropped(0.5, {1ll << 40, 7, 1000, 3}, 70);
  EXPECT_TRUE(torch::equal(forward, backward.flip(0)));
  EXPECT_FALSE(torch::equal(forward[0], forward[1]));
  EXPECT_FALSE(torch::equal(Dropped(0.5, {3}, 70, /*key=*/18), Dropped(0.5, {3}, 70)));
}

TEST(BiasReluDropoutTest, EachNodeTypeHasItsOwnKey) {
  const torch::Tensor ids = torch::tensor({5, 6}, torch::kInt64);
  const DropoutPlan plan{0.5, {{0, 2, 17, ids}, {2, 4, 18, ids}}};

  const torch::Tensor y = BiasReluDropout(torch::ones({4, 64}), {}, plan);

  EXPECT_TRUE(torch::equal(y.slice(0, 0, 2), Dropped(0.5, {5, 6}, 64, 17)));
  EXPECT_TRUE(torch::equal(y.slice(0, 2, 4), Dropped(0.5, {5, 6}, 64, 18)));
}

TEST(BiasReluDropoutTest, GradientsPassKeptElements) {
  std::vector<int64_t> ids(700);
  std::iota(ids.begin(), ids.end(), 10);
  torch::Tensor x = RandomMatrix(3, 700, 21).requires_grad_(),
                bias = RandomMatrix(4, 1, 21)[0].clone().requires_grad_();

  const torch::Tensor y = BiasReluDropout(x * 1, bias, Plan(0.3, ids));
  WeightedSum(y).backward();

  const torch::Tensor mask = Dropped(0.3, ids, 21);
  torch::Tensor x2 = x.detach().clone().requires_grad_(), bias2 = bias.detach().clone().requires_grad_();
  WeightedSum(torch::relu(x2 + bias2) * mask).backward();
  EXPECT_TRUE(torch::allclose(x.grad(), x2.grad()));
  EXPECT_TRUE(torch::allclose(bias.grad(), bias2.grad(), 1e-4, 1e-5));
}

TEST(BiasReluDropoutTest, AnyNumberOfThreadsGivesTheSameBits) {
  std::vector<int64_t> ids(5000);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<torch::Tensor> outputs, gradients;
  for (const int threads : {1, 3}) {
    const ThreadCount scope(threads);
    torch::Tensor x = RandomMatrix(3, 5000, 40).requires_grad_(), bias = torch::zeros({40}).requires_grad_();
    outputs.push_back(BiasReluDropout(x * 1, bias, Plan(0.5, ids)));
    WeightedSum(outputs.back()).backward();
    gradients.push_back(bias.grad());
  }
  EXPECT_TRUE(torch::equal(outputs[0], outputs[1]));
  EXPECT_TRUE(torch::equal(gradients[0], gradients[1]));
}

TEST(BiasReluDropoutTest, AllowsNoRows) {
  torch::Tensor x = torch::empty({0, 8}).requires_grad_(), bias = torch::zeros({8}).requires_grad_();
  BiasReluDropout(x * 1, bias, DropoutPlan{0.5, {}}).sum().backward();
  EXPECT_TRUE(torch::equal(bias.grad(), torch::zeros({8})));
}

}  // namespace
}  // namespace espalier::trainer
