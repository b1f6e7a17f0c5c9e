// AutocastScope around torch's own operations. The layers within it: every_model_test.cc, model_test.cc.
#include "services/trainer/ops/autocast.h"

#include <gtest/gtest.h>

#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

TEST(AutocastScopeTest, MultipliesInBf16AndRestoresF32) {
  const torch::Tensor a = RandomMatrix(1, 5, 7), b = RandomMatrix(2, 7, 3);
  const torch::Tensor exact = torch::mm(a, b);
  {
    const AutocastScope autocast(job::Precision::kBf16, torch::kCPU);
    const torch::Tensor product = torch::mm(a, b);
    EXPECT_EQ(product.scalar_type(), torch::kBFloat16);
    // Operands have 8 significant bits, the sum over 7 products is in F32, and the result has 8 bits again.
    EXPECT_TRUE(torch::allclose(ToF32(product), exact, /*rtol=*/1e-2, /*atol=*/3e-2));
    EXPECT_FALSE(torch::equal(ToF32(product), exact));
    EXPECT_EQ((a + 1).scalar_type(), torch::kFloat32) << "only products are in BF16";
    { const AutocastScope inner(job::Precision::kBf16, torch::kCPU); }
    EXPECT_EQ(torch::mm(a, b).scalar_type(), torch::kBFloat16) << "the inner scope ended, not the outer one";
  }
  EXPECT_EQ(torch::mm(a, b).scalar_type(), torch::kFloat32);
}

TEST(AutocastScopeTest, F32ChangesNothing) {
  const torch::Tensor a = RandomMatrix(1, 5, 7), b = RandomMatrix(2, 7, 3);
  const AutocastScope autocast(job::Precision::kF32, torch::kCPU);
  const torch::Tensor product = torch::mm(a, b);
  EXPECT_EQ(product.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(ToF32(product).is_same(product)) << "no conversion is recorded";
}

TEST(AutocastScopeTest, EndsWithAnError) {
  const torch::Tensor a = RandomMatrix(1, 5, 7);
  EXPECT_THROW(
      {
        const AutocastScope autocast(job::Precision::kBf16, torch::kCPU);
        torch::mm(a, a);
      },
      c10::Error);
  EXPECT_EQ(torch::mm(a, a.t()).scalar_type(), torch::kFloat32);
}

// The copies that torch keeps of parameters would be stale after an update.
TEST(AutocastScopeTest, ReadsParametersAnewInEachScope) {
  const torch::Tensor x = torch::ones({1, 2}), weight = torch::ones({3, 2}).set_requires_grad(true);
  const auto product = [&] {
    const AutocastScope autocast(job::Precision::kBf16, torch::kCPU);
    return torch::linear(x, weight).detach().sum().item<float>();
  };
  EXPECT_EQ(product(), 6);
  {
    const torch::NoGradGuard no_gradient;
    weight.mul_(2);
  }
  EXPECT_EQ(product(), 12);
}

TEST(AutocastScopeTest, GradientsAreF32) {
  const torch::Tensor x = RandomMatrix(1, 5, 7).set_requires_grad(true);
  const torch::Tensor weight = RandomMatrix(2, 7, 3).set_requires_grad(true);
  torch::Tensor loss;
  {
    const AutocastScope autocast(job::Precision::kBf16, torch::kCPU);
    loss = WeightedSum(ToF32(torch::mm(x, weight)));
  }
  loss.backward();
  const torch::Tensor in_bf16 = weight.grad().clone(), of_x = x.grad().clone();
  EXPECT_EQ(in_bf16.scalar_type(), torch::kFloat32);
  EXPECT_EQ(of_x.scalar_type(), torch::kFloat32);
  const auto exact = torch::autograd::grad({WeightedSum(torch::mm(x, weight))}, {x, weight});
  EXPECT_TRUE(torch::allclose(of_x, exact[0], /*rtol=*/2e-2, /*atol=*/3e-2));
  EXPECT_TRUE(torch::allclose(in_bf16, exact[1], /*rtol=*/2e-2, /*atol=*/3e-2));
}

}  // namespace
}  // namespace espalier::trainer
