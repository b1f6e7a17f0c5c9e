#include "services/trainer/ops/matrix_product.h"

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "services/job/dist_training.h"
#include "services/trainer/ops/autocast.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

struct ProductShape {
  int64_t rows, inputs, outputs;
};

// More rows than one block of the gradient holds, a wider input, a wider output, single rows and columns.
constexpr ProductShape kShapes[] = {{5000, 7, 12}, {5000, 12, 7}, {4096, 16, 16}, {300, 200, 3}, {1, 5, 9}, {9, 1, 1}};

TEST(MatMulTest, MatchesTorchInF64) {
  for (const auto& [rows, inputs, outputs] : kShapes) {
    SCOPED_TRACE(testing::Message() << rows << " x " << inputs << " x " << outputs);
    torch::Tensor x = RandomMatrix(1, rows, inputs).requires_grad_(),
                  weight = RandomMatrix(2, outputs, inputs).requires_grad_(),
                  bias = RandomMatrix(3, 1, outputs).squeeze(0).clone().requires_grad_();
    const torch::Tensor gradient = RandomMatrix(4, rows, outputs);
    const torch::Tensor y = MatMul(x, weight.t(), bias);
    y.backward(gradient);

    const auto f64 = [](const torch::Tensor& tensor) { return tensor.detach().to(torch::kFloat64); };
    EXPECT_TRUE(torch::allclose(f64(y), f64(x).mm(f64(weight).t()) + f64(bias), 1e-4, 1e-4));
    EXPECT_TRUE(torch::allclose(f64(x.grad()), f64(gradient).mm(f64(weight)), 1e-4, 1e-4));
    EXPECT_TRUE(torch::allclose(f64(weight.grad()), f64(gradient).t().mm(f64(x)), 1e-4, 1e-3));
    EXPECT_TRUE(torch::allclose(f64(bias.grad()), f64(gradient).sum(0), 1e-4, 1e-3));
  }
}

TEST(MatMulTest, AcceptsMatricesInAnyLayout) {
  const torch::Tensor a = RandomMatrix(1, 40, 30), b = RandomMatrix(2, 30, 20);
  const torch::Tensor expected = MatMul(a, b);
  EXPECT_TRUE(torch::equal(MatMul(a.t().contiguous().t(), b), expected));
  EXPECT_TRUE(torch::equal(MatMul(a, b.t().contiguous().t()), expected));
  const torch::Tensor wide = torch::cat({b, b}, 1);
  EXPECT_TRUE(torch::equal(MatMul(a, wide.narrow(1, 20, 20)), expected));

  const torch::Tensor strided = RandomMatrix(3, 20, 2).select(1, 1), expanded = torch::ones({1}).expand({20});
  for (const torch::Tensor& bias : {strided, expanded}) {
    EXPECT_TRUE(torch::allclose(MatMul(a, b, bias), torch::addmm(bias, a, b), 1e-4, 1e-5));
  }
}

TEST(MatMulTest, AcceptsGradientsInAnyLayout) {
  const torch::Tensor a = RandomMatrix(1, 40, 30);
  torch::Tensor weight = RandomMatrix(2, 20, 30).requires_grad_();
  MatMul(a, weight.t()).sum().backward();  // an expanded gradient
  EXPECT_TRUE(torch::allclose(weight.grad(), a.sum(0).expand({20, 30}), 1e-4, 1e-4));
}

TEST(MatMulTest, CallsOneDnnForwardAndBackward) {
  ASSERT_TRUE(HasOneDnn());
  static thread_local int calls;
  calls = 0;
  const auto count = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
    if (std::string_view(function.name()) == "mkldnn::_linear_pointwise") ++calls;
    return nullptr;
  };
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(count).scopes({at::RecordScope::FUNCTION}));
  torch::Tensor x = RandomMatrix(1, 5, 4).requires_grad_(), weight = RandomMatrix(2, 3, 4).requires_grad_();
  const torch::Tensor y = MatMul(x, weight.t());
  EXPECT_EQ(calls, 1);
  y.sum().backward();  // on this thread, as without other devices
  EXPECT_EQ(calls, 3);
  at::removeCallback(handle);
}

TEST(MatMulTest, SavesOnlyWhatGradientsNeed) {
  const torch::Tensor weight = RandomMatrix(2, 4, 4);
  torch::Tensor x = RandomMatrix(1, 5, 4).abs().requires_grad_();
  torch::Tensor hidden = x + 1;
  const torch::Tensor y = MatMul(hidden, weight);
  hidden.relu_();  // backward would refuse it if `hidden` were saved
  y.sum().backward();
  EXPECT_TRUE(torch::allclose(x.grad(), weight.sum(1).expand({5, 4}), 1e-4, 1e-4));
}

TEST(MatMulTest, RefusesSecondDerivatives) {
  torch::Tensor x = RandomMatrix(1, 5, 4).requires_grad_();
  const torch::Tensor y = MatMul(x, RandomMatrix(2, 4, 3)).square().sum();
  EXPECT_THROW(torch::autograd::grad({y}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true), c10::Error);
}

TEST(MatMulTest, BitsDoNotDependOnTheAddress) {
  for (const auto& [rows, inputs, outputs] : kShapes) {
    const torch::Tensor a = RandomMatrix(1, rows, inputs), b = RandomMatrix(2, inputs, outputs);
    const torch::Tensor expected = MatMul(a, b);
    for (const int64_t offset : {1, 3, 8}) {
      const auto moved = [&](const torch::Tensor& x) {
        torch::Tensor buffer = torch::empty({x.numel() + offset});
        return buffer.narrow(0, offset, x.numel()).view(x.sizes()).copy_(x);
      };
      EXPECT_TRUE(torch::equal(MatMul(moved(a), moved(b)), expected)) << rows << ", offset " << offset;
    }
  }
}

TEST(MatMulTest, EmptyMatricesGiveZerosOrTheBias) {
  const torch::Tensor bias = torch::tensor({1.0f, 2.0f});
  EXPECT_EQ(MatMul(torch::empty({0, 3}), torch::ones({3, 2})).sizes(), (std::vector<int64_t>{0, 2}));
  EXPECT_TRUE(torch::equal(MatMul(torch::empty({2, 0}), torch::empty({0, 2})), torch::zeros({2, 2})));
  EXPECT_TRUE(torch::equal(MatMul(torch::empty({1, 0}), torch::empty({0, 2}), bias), bias.unsqueeze(0)));

  torch::Tensor weight = torch::ones({2, 3}, torch::requires_grad());
  MatMul(torch::empty({0, 3}), weight.t()).sum().backward();
  EXPECT_TRUE(torch::equal(weight.grad(), torch::zeros({2, 3})));
}

TEST(MatMulTest, OtherDtypesAndAutocastUseTorch) {
  const torch::Tensor a = RandomMatrix(1, 8, 8), b = RandomMatrix(2, 8, 8);
  EXPECT_EQ(MatMul(a.to(torch::kFloat64), b.to(torch::kFloat64)).scalar_type(), torch::kFloat64);
  {
    const TorchPathScope torch_path;
    EXPECT_TRUE(torch::equal(MatMul(a, b), torch::mm(a, b)));
  }
  const AutocastScope autocast(job::Precision::kBf16, torch::kCPU);
  EXPECT_EQ(MatMul(a, b).scalar_type(), torch::kBFloat16);
}

TEST(MatMulTest, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(MatMul(torch::ones({2, 3}), torch::ones({2, 3})), c10::Error);
  EXPECT_THROW(MatMul(torch::ones({3}), torch::ones({3, 2})), c10::Error);
  EXPECT_THROW(MatMul(torch::ones({2, 3}), torch::ones({3, 2}), torch::ones({3})), c10::Error);
}

}  // namespace
}  // namespace espalier::trainer
