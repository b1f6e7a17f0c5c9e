// The torch path of each operation compared with the kernels for CPUs, on CPU tensors and on a GPU if there is one:
// values and gradients within a tolerance, masks of dropout bit for bit, the same bits in every run.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "services/trainer/ops/activation.h"
#include "services/trainer/ops/attention_ops.h"
#include "services/trainer/ops/op_path.h"
#include "services/trainer/ops/segment_ops.h"
#include "services/trainer/testing/devices.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

using Inputs = std::vector<torch::Tensor>;
using Operation = std::function<torch::Tensor(const Inputs&)>;

// An operation's result, and the gradients of its inputs, in the host's memory.
struct Computed {
  torch::Tensor result;
  std::vector<torch::Tensor> gradients;
};

Computed Compute(const Operation& operation, const Inputs& inputs, torch::Device device) {
  Inputs leaves;
  for (const torch::Tensor& input : inputs) leaves.push_back(input.detach().clone().to(device).requires_grad_());
  const torch::Tensor result = operation(leaves);
  EXPECT_EQ(result.device(), device);
  WeightedSum(result.cpu()).backward();
  Computed computed{result.detach().cpu(), {}};
  for (const torch::Tensor& leaf : leaves) computed.gradients.push_back(leaf.grad().cpu());
  return computed;
}

// Compares both paths, and the torch path with itself, on every device.
void ExpectTheSame(const std::string& name, const Operation& operation, const Inputs& inputs) {
  const Computed by_kernels = Compute(operation, inputs, torch::kCPU);
  const TorchPathScope torch_path;
  for (const torch::Device device : TestDevices()) {
    const std::string what = name + " on " + device.str();
    const Computed by_torch = Compute(operation, inputs, device), again = Compute(operation, inputs, device);
    EXPECT_TRUE(torch::allclose(by_torch.result, by_kernels.result, 1e-5, 1e-6)) << what;
    EXPECT_TRUE(torch::equal(by_torch.result, again.result)) << what;
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(torch::allclose(by_torch.gradients[i], by_kernels.gradients[i], 1e-4, 1e-5)) << what << ", " << i;
      EXPECT_TRUE(torch::equal(by_torch.gradients[i], again.gradients[i])) << what << ", " << i;
    }
  }
}

// Opens the devices before any test has asked torch for CUDA.
class TorchPathTest : public testing::Test {
 public:
  static void SetUpTestSuite() { TestDevices(); }
};

struct NamedSum {
  const char* name;
  torch::Tensor (*op)(const kernels::Segments&, const torch::Tensor&);
};
constexpr NamedSum kSums[] = {{"sum", SegmentSum},
                              {"mean", SegmentMean},
                              {"max", SegmentMax},
                              {"mean with self", SegmentMeanWithSelf},
                              {"self and mean", SelfAndSegmentMean}};

TEST_F(TorchPathTest, SegmentOperationsAgreeWithTheKernels) {
  for (const int64_t width : {1, 7, 64, 101}) {
    const sampler::Block block = RandomBlock(5, 400, 900, 9);
    for (const NamedSum& sum : kSums) {
      ExpectTheSame(std::string(sum.name) + " of width " + std::to_string(width),
                    [&](const Inputs& in) { return sum.op(View(block), in[0]); }, {RandomMatrix(1, 900, width)});
    }
  }
}

TEST_F(TorchPathTest, AllowsEmptyBlocksAndDestinationsWithoutEdges) {
  const std::vector<uint32_t> no_rows = {0}, lonely = {0, 0, 1}, one = {1};
  for (const NamedSum& sum : kSums) {
    ExpectTheSame(sum.name, [&](const Inputs& in) { return sum.op({lonely, one}, in[0]); }, {RandomMatrix(2, 3, 4)});
    const TorchPathScope torch_path;
    torch::Tensor x = torch::ones({2, 3}).requires_grad_();
    const torch::Tensor nothing = sum.op({no_rows, {}}, x);
    EXPECT_EQ(nothing.size(0), 0) << sum.name;
    nothing.sum().backward();
    EXPECT_EQ(x.grad().abs().sum().item<float>(), 0) << sum.name;
  }
}

TEST_F(TorchPathTest, MaximumPassesGradientToFirstOfEqualRows) {
  const std::vector<uint32_t> indptr = {0, 3, 3}, indices = {2, 0, 1};
  ExpectTheSame("equal rows",
                [&](const Inputs& in) {
                  return SegmentMax({indptr, indices}, in[0]);
                },
                {torch::full({3, 4}, -2.0f)});
}

TEST_F(TorchPathTest, MaximaOfNanAreNan) {
  const std::vector<uint32_t> indptr = {0, 3, 4}, indices = {0, 1, 2, 1};
  const TorchPathScope torch_path;
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

TEST_F(TorchPathTest, ScaledSumsAgreeWithTheKernels) {
  const sampler::Block block = RandomBlock(6, 40, 90, 9);
  const torch::Tensor positive = RandomMatrix(3, 3, 90).abs() + 0.1;
  const auto row = [&](int64_t i, size_t count) { return std::span(positive[i].data_ptr<float>(), count); };
  for (const bool with_self : {false, true}) {
    const SegmentScales scales{row(0, 90), with_self ? row(1, 40) : std::span<const float>(), row(2, 40)};
    ExpectTheSame("scaled sum", [&](const Inputs& in) { return ScaledSegmentSum(View(block), in[0], scales); },
                  {RandomMatrix(1, 90, 13)});
  }
}

TEST_F(TorchPathTest, AddedRowsMatchKernels) {
  const std::vector<uint32_t> rows = {2, 0, 5};
  ExpectTheSame("added rows", [&](const Inputs& in) { return AddToRows(in[0] * 1, in[1], rows); },
                {RandomMatrix(1, 6, 3), RandomMatrix(2, 3, 3)});
}

TEST_F(TorchPathTest, AttentionAgreesWithTheKernels) {
  constexpr int64_t kNumHeads = 3, kNumColumns = 5, kWidth = kNumHeads * kNumColumns;
  constexpr double kNegativeSlope = 0.2;
  const sampler::Block block = RandomBlock(5, 40, 90, 9);
  for (const auto self_edges : {AttentionEdges::SelfEdges::kNone, AttentionEdges::SelfEdges::kAppended}) {
    const AttentionEdges edges(View(block), 90, self_edges);
    const torch::Tensor weights = RandomMatrix(6, edges.num_edges(), kNumHeads);
    const torch::Tensor source = RandomMatrix(1, 90, kWidth), destination = RandomMatrix(2, 40, kWidth);
    ExpectTheSame("additive scores",
                  [&](const Inputs& in) { return AdditiveEdgeScores(edges, in[0], in[1], kNegativeSlope); },
                  {source, destination});
    ExpectTheSame("dynamic scores",
                  [&](const Inputs& in) { return DynamicEdgeScores(edges, in[0], in[1], in[2], kNegativeSlope); },
                  {source, destination, RandomMatrix(3, kNumHeads, kNumColumns)});
    ExpectTheSame("softmax", [&](const Inputs& in) { return EdgeSoftmax(edges, in[0] * 30); }, {weights});
    ExpectTheSame("weighted sum", [&](const Inputs& in) { return WeightedSegmentSum(edges, in[0], in[1]); },
                  {weights, source});
  }
}

// More than eight heads take a second block of Philox.
TEST_F(TorchPathTest, DroppedEdgesMatchKernels) {
  const sampler::Block block = RandomBlock(5, 40, 90, 9);
  const AttentionEdges edges(View(block), 90, AttentionEdges::SelfEdges::kAppended);
  const torch::Tensor ids = torch::arange(90, torch::kInt64) * ((int64_t{1} << 35) + 12345);
  for (const int64_t heads : {1, 8, 11}) {
    const EdgeDropout dropout{
        .probability = 0.4, .key = 0xFEDCBA9876543210ull, .source_ids = ids, .destination_ids = ids};
    const torch::Tensor ones = torch::ones({edges.num_edges(), heads});
    const torch::Tensor by_kernels = DropEdges(edges, ones, dropout);
    const TorchPathScope torch_path;
    for (const torch::Device device : TestDevices()) {
      EXPECT_TRUE(torch::equal(DropEdges(edges, ones.to(device), dropout).cpu(), by_kernels)) << heads << " " << device;
    }
  }
}

// Two node types with keys of their own; ids above 2^32; widths on both sides of a block of Philox.
DropoutPlan PlanOfTwoTypes(double probability) {
  const torch::Tensor ids = torch::arange(300, torch::kInt64) * ((int64_t{1} << 33) + 7);
  return {probability, {{0, 200, 0xABCDEF0123456789ull, ids}, {200, 300, 18, ids}}};
}

TEST_F(TorchPathTest, DroppedElementsMatchKernels) {
  for (const int64_t width : {1, 8, 33, 256}) {
    for (const double probability : {0.1, 0.5, 0.9}) {
      const torch::Tensor ones = torch::ones({300, width});
      const DropoutPlan plan = PlanOfTwoTypes(probability);
      const torch::Tensor elements = DropElements(ones, plan), activated = BiasReluDropout(ones.clone(), {}, plan);
      const TorchPathScope torch_path;
      for (const torch::Device device : TestDevices()) {
        const torch::Tensor there = ones.to(device);
        EXPECT_TRUE(torch::equal(DropElements(there, plan).cpu(), elements)) << width << " " << device;
        EXPECT_TRUE(torch::equal(BiasReluDropout(there.clone(), {}, plan).cpu(), activated)) << width << " " << device;
      }
    }
  }
}

TEST_F(TorchPathTest, ActivationsAgreeWithTheKernels) {
  for (const double probability : {0.0, 0.3}) {
    const DropoutPlan plan = probability == 0 ? DropoutPlan() : PlanOfTwoTypes(probability);
    ExpectTheSame("bias, ReLU and dropout",
                  [&](const Inputs& in) { return BiasReluDropout(in[0] * 1, in[1][0], plan); },
                  {RandomMatrix(3, 300, 21), RandomMatrix(4, 1, 21)});
  }
  const TorchPathScope torch_path;
  EXPECT_TRUE(BiasReluDropout(torch::zeros({2, 3}), torch::full({3}, NAN), {}).isnan().all().item<bool>());
}

}  // namespace
}  // namespace espalier::trainer
