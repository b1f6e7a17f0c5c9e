// Segment operations compared with torch's indexing and with finite differences; NaN, empty segments and threads.
#include "services/trainer/ops/segment_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

using Op = torch::Tensor (*)(const kernels::Segments&, const torch::Tensor&);
struct NamedOp {
  const char* name;
  Op op;
};
constexpr NamedOp kOps[] = {{"sum", SegmentSum},
                            {"mean", SegmentMean},
                            {"max", SegmentMax},
                            {"mean with self", SegmentMeanWithSelf},
                            {"self and mean", SelfAndSegmentMean}};

// Returns the result of the operation, computed by torch for one destination at a time.
torch::Tensor ByIndexing(const std::string& name, const sampler::Block& block, const torch::Tensor& x) {
  std::vector<torch::Tensor> rows;
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    const torch::Tensor self = x[static_cast<int64_t>(i)];
    std::vector<torch::Tensor> picked;
    for (uint32_t e = block.indptr[i]; e < block.indptr[i + 1]; ++e) picked.push_back(x[block.indices[e]]);
    const bool lonely = picked.empty();
    const torch::Tensor neighbors = lonely ? torch::zeros({1, x.size(1)}) : torch::stack(picked);
    if (name == "sum") rows.push_back(neighbors.sum(0));
    if (name == "mean") rows.push_back(neighbors.mean(0));
    if (name == "max") rows.push_back(std::get<0>(neighbors.max(0)));
    if (name == "mean with self") {
      rows.push_back((neighbors.sum(0) + self) / (static_cast<double>(picked.size()) + 1.0));
    }
    if (name == "self and mean") rows.push_back(torch::cat({self, neighbors.mean(0)}));
  }
  return torch::stack(rows);
}

// Destination 0 has the in-neighbors 1 and 2, destination 1 has none.
TEST(SegmentOpsTest, DestinationsWithoutEdgesGetZeros) {
  const std::vector<uint32_t> indptr = {0, 2, 2}, indices = {1, 2};
  const torch::Tensor x = torch::tensor({{-4.f}, {1.f}, {-3.f}});

  EXPECT_TRUE(torch::equal(SegmentSum({indptr, indices}, x), torch::tensor({{-2.f}, {0.f}})));
  EXPECT_TRUE(torch::equal(SegmentMean({indptr, indices}, x), torch::tensor({{-1.f}, {0.f}})));
  EXPECT_TRUE(torch::equal(SegmentMax({indptr, indices}, x), torch::tensor({{1.f}, {0.f}})));
  EXPECT_TRUE(torch::equal(SegmentMeanWithSelf({indptr, indices}, x), torch::tensor({{-2.f}, {1.f}})));
  EXPECT_TRUE(torch::equal(SelfAndSegmentMean({indptr, indices}, x), torch::tensor({{-4.f, -1.f}, {1.f, 0.f}})));
}

// NaN comes from the first, the middle or the last edge of destination 0; destination 1 has only the middle source.
TEST(SegmentOpsTest, MaximumOfNanIsNan) {
  const std::vector<uint32_t> indptr = {0, 3, 4}, indices = {0, 1, 2, 1};
  for (int64_t place = 0; place < 3; ++place) {
    torch::Tensor x = torch::tensor({{3.f, -4.f}, {2.f, 1.f}, {4.f, -3.f}});
    x[place][0] = NAN;
    x.requires_grad_();
    const torch::Tensor most = SegmentMax({indptr, indices}, x);
    EXPECT_TRUE(std::isnan(most[0][0].item<float>())) << place;
    EXPECT_EQ(most[0][1].item<float>(), 1);
    EXPECT_EQ(std::isnan(most[1][0].item<float>()), place == 1);

    most[0][0].backward();
    EXPECT_EQ(x.grad()[place][0].item<float>(), 1);
    EXPECT_EQ(x.grad().sum().item<float>(), 1);
  }
}

TEST(SegmentOpsTest, MatchesIndexingForwardAndBackward) {
  for (const int64_t width : {1, 7, 64, 101}) {
    const sampler::Block block = RandomBlock(5, 40, 90, 9);
    for (const NamedOp& op : kOps) {
      torch::Tensor ours = RandomMatrix(1, 90, width).requires_grad_(), torchs = ours.detach().clone().requires_grad_();

      const torch::Tensor got = op.op(View(block), ours), expected = ByIndexing(op.name, block, torchs);
      WeightedSum(got).backward();
      WeightedSum(expected).backward();

      EXPECT_TRUE(torch::allclose(got, expected, 1e-5, 1e-6)) << op.name << " of width " << width;
      EXPECT_TRUE(torch::allclose(ours.grad(), torchs.grad(), 1e-5, 1e-6)) << op.name << " of width " << width;
    }
  }
}

TEST(SegmentOpsTest, GradientsMatchFiniteDifferences) {
  const sampler::Block block = RandomBlock(6, 12, 30, 6);
  for (const NamedOp& op : kOps) {
    torch::Tensor x = (RandomMatrix(2, 30, 5) * 10).requires_grad_();
    ExpectGradientOfFiniteDifferences(op.name, x, [&] { return WeightedSum(op.op(View(block), x)); });
  }
}

TEST(SegmentOpsTest, AnyNumberOfThreadsGivesTheSameBits) {
  const sampler::Block block = RandomBlock(7, 3000, 9000, 20);
  for (const NamedOp& op : kOps) {
    std::vector<torch::Tensor> results, gradients;
    for (const int threads : {1, 2, 5}) {
      const ThreadCount scope(threads);
      torch::Tensor x = RandomMatrix(3, 9000, 33).requires_grad_();
      results.push_back(op.op(View(block), x));
      WeightedSum(results.back()).backward();
      gradients.push_back(x.grad());
    }
    for (size_t i = 1; i < results.size(); ++i) {
      EXPECT_TRUE(torch::equal(results[i], results[0])) << op.name;
      EXPECT_TRUE(torch::equal(gradients[i], gradients[0])) << op.name;
    }
  }
}

TEST(SegmentOpsTest, BackwardOutlivesTheBlock) {
  torch::Tensor x = torch::ones({3, 2}).requires_grad_();
  torch::Tensor sum;
  {
    const sampler::Block block = RandomBlock(8, 2, 3, 3);
    sum = SegmentSum(View(block), x).sum();
  }
  sum.backward();
  EXPECT_EQ(x.grad().sum().item<float>(), sum.item<float>());
}

TEST(SegmentOpsTest, AllowsEmptyBlocksAndInputs) {
  const std::vector<uint32_t> no_rows = {0}, one_lonely_row = {0, 0};
  for (const NamedOp& op : kOps) {
    torch::Tensor x = torch::ones({2, 3}).requires_grad_();
    const torch::Tensor nothing = op.op({no_rows, {}}, x);
    EXPECT_EQ(nothing.size(0), 0) << op.name;
    nothing.sum().backward();
    EXPECT_EQ(x.grad().abs().sum().item<float>(), 0) << op.name;
  }
  EXPECT_TRUE(torch::equal(SegmentMean({one_lonely_row, {}}, torch::empty({0, 3})), torch::zeros({1, 3})));
}

TEST(AddToRowsTest, AddsInPlaceAndSplitsGradients) {
  const std::vector<uint32_t> rows = {2, 0};
  torch::Tensor base = RandomMatrix(1, 4, 3).requires_grad_(), values = RandomMatrix(2, 2, 3).requires_grad_();

  const torch::Tensor sum = AddToRows(base * 1, values, rows);
  sum.mul(torch::arange(12).view({4, 3})).sum().backward();

  torch::Tensor expected = base.detach().clone();
  expected[2] += values[0].detach();
  expected[0] += values[1].detach();
  EXPECT_TRUE(torch::equal(sum, expected));
  EXPECT_TRUE(torch::equal(base.grad(), torch::arange(12).view({4, 3}).to(torch::kFloat32)));
  EXPECT_TRUE(torch::equal(values.grad(), torch::tensor({{6.f, 7.f, 8.f}, {0.f, 1.f, 2.f}})));
}

}  // namespace
}  // namespace espalier::trainer
