// Attention operations compared with torch's operations on lists of edges and with finite differences, and dropout of
// edges.
#include "services/trainer/ops/attention_ops.h"

#include <gtest/gtest.h>

#include <map>

#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

using SelfEdges = AttentionEdges::SelfEdges;

constexpr int64_t kHeads = 3, kColumns = 5;
constexpr double kSlope = 0.2;

// The source row and the destination row of each edge.
struct EdgeEnds {
  torch::Tensor sources, destinations;  // i64 [E]
};

EdgeEnds ListEnds(const sampler::Block& block) {
  std::vector<int64_t> sources(block.indices.begin(), block.indices.end()), destinations;
  for (size_t d = 0; d + 1 < block.indptr.size(); ++d) {
    destinations.insert(destinations.end(), block.indptr[d + 1] - block.indptr[d], static_cast<int64_t>(d));
  }
  return {torch::tensor(sources, torch::kInt64), torch::tensor(destinations, torch::kInt64)};
}

// Returns the softmax over the edges of each destination, computed by torch for one destination at a time.
torch::Tensor SoftmaxByRow(const sampler::Block& block, const torch::Tensor& scores) {
  std::vector<torch::Tensor> parts = {torch::empty({0, scores.size(1)})};
  for (size_t d = 0; d + 1 < block.indptr.size(); ++d) {
    parts.push_back(torch::softmax(scores.slice(0, block.indptr[d], block.indptr[d + 1]), 0));
  }
  return torch::cat(parts);
}

torch::Tensor Heads(const torch::Tensor& rows) { return rows.view({rows.size(0), kHeads, kColumns}); }

TEST(AttentionOpsTest, ScoresSoftmaxAndSumsAgreeWithTorchOnEdges) {
  const sampler::Block block = RandomBlock(5, 40, 90, 9);
  const EdgeEnds ends = ListEnds(block);
  const AttentionEdges edges(View(block), 90, SelfEdges::kNone);
  const auto leaf = [](uint64_t seed, int64_t rows, int64_t columns) {
    return RandomMatrix(seed, rows, columns).requires_grad_();
  };
  const std::vector<torch::Tensor> ours = {leaf(1, 90, kHeads * kColumns), leaf(2, 40, kHeads * kColumns),
                                           leaf(3, kHeads, kColumns), leaf(4, 90, kHeads), leaf(5, 40, kHeads)};
  std::vector<torch::Tensor> torchs;
  for (const torch::Tensor& tensor : ours) torchs.push_back(tensor.detach().clone().requires_grad_());

  const torch::Tensor dynamic = DynamicEdgeScores(edges, ours[0], ours[1], ours[2], kSlope);
  const torch::Tensor scores = dynamic + AdditiveEdgeScores(edges, ours[3], ours[4], kSlope);
  const torch::Tensor got = WeightedSegmentSum(edges, EdgeSoftmax(edges, scores), ours[0]);
  WeightedSum(got).backward();

  const auto ends_of = [&](const torch::Tensor& source, const torch::Tensor& destination) {
    return torch::leaky_relu(source.index_select(0, ends.sources) + destination.index_select(0, ends.destinations),
                             kSlope);
  };
  const torch::Tensor torch_scores =
      (Heads(ends_of(torchs[0], torchs[1])) * torchs[2]).sum(2) + ends_of(torchs[3], torchs[4]);
  const torch::Tensor messages =
      Heads(torchs[0].index_select(0, ends.sources)) * SoftmaxByRow(block, torch_scores).unsqueeze(2);
  const torch::Tensor expected =
      torch::zeros({40, kHeads * kColumns}).index_add(0, ends.destinations, messages.flatten(1));
  WeightedSum(expected).backward();

  EXPECT_TRUE(torch::allclose(scores, torch_scores, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(got, expected, 1e-5, 1e-6));
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(torch::allclose(ours[i].grad(), torchs[i].grad(), 1e-4, 1e-5)) << "input " << i;
  }
}

TEST(AttentionOpsTest, GradientsMatchFiniteDifferences) {
  const sampler::Block block = RandomBlock(6, 12, 30, 6);
  const AttentionEdges edges(View(block), 30, SelfEdges::kAppended);
  const int64_t num_edges = edges.num_edges();
  torch::Tensor source = RandomMatrix(1, 30, kHeads * kColumns).requires_grad_();
  torch::Tensor destination = RandomMatrix(2, 12, kHeads * kColumns).requires_grad_();
  torch::Tensor attention = RandomMatrix(3, kHeads, kColumns).requires_grad_();
  torch::Tensor scores = RandomMatrix(4, num_edges, kHeads).requires_grad_();
  const auto dynamic = [&] { return WeightedSum(DynamicEdgeScores(edges, source, destination, attention, kSlope)); };
  // LeakyReLU is not differentiable at 0, which requires a short step.
  for (torch::Tensor& input : std::vector<torch::Tensor>{source, destination, attention}) {
    ExpectGradientOfFiniteDifferences("dynamic scores", input, dynamic, 1e-3);
  }
  for (torch::Tensor& input : std::vector<torch::Tensor>{source, destination}) {
    ExpectGradientOfFiniteDifferences(
        "additive scores", input, [&] { return WeightedSum(AdditiveEdgeScores(edges, source, destination, kSlope)); },
        1e-3);
  }
  ExpectGradientOfFiniteDifferences("softmax", scores, [&] { return WeightedSum(EdgeSoftmax(edges, scores)); });
  for (torch::Tensor& input : std::vector<torch::Tensor>{source, scores}) {
    ExpectGradientOfFiniteDifferences("weighted sum", input,
                                      [&] { return WeightedSum(WeightedSegmentSum(edges, scores, source)); });
  }
}

TEST(AttentionOpsTest, SelfEdgesComeLastOfEachDestination) {
  const std::vector<uint32_t> indptr = {0, 2, 2}, indices = {1, 2};
  const AttentionEdges edges({indptr, indices}, 3, SelfEdges::kAppended);
  const kernels::EdgeView view = edges.view();
  EXPECT_EQ(std::vector<uint32_t>(view.segments.indptr.begin(), view.segments.indptr.end()),
            (std::vector<uint32_t>{0, 3, 4}));
  EXPECT_EQ(std::vector<uint32_t>(view.segments.indices.begin(), view.segments.indices.end()),
            (std::vector<uint32_t>{1, 2, 0, 1}));
  // Destination 1 has only its self-edge, which gets the whole weight.
  EXPECT_EQ(EdgeSoftmax(edges, RandomMatrix(1, 4, 2))[3].sum().item<float>(), 2);
}

TEST(AttentionOpsTest, LargeScoresDoNotOverflow) {
  const std::vector<uint32_t> indptr = {0, 2}, indices = {0, 1};
  const AttentionEdges edges({indptr, indices}, 2, SelfEdges::kNone);
  const torch::Tensor weights = EdgeSoftmax(edges, torch::tensor({{1000.f}, {1001.f}}));
  EXPECT_NEAR(weights[1].item<float>(), 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(weights.sum().item<float>(), 1, 1e-6);
}

TEST(AttentionOpsTest, AnyNumberOfThreadsGivesTheSameBits) {
  const sampler::Block block = RandomBlock(7, 3000, 9000, 20);
  std::vector<std::vector<torch::Tensor>> results;
  for (const int threads : {1, 2, 5}) {
    const ThreadCount scope(threads);
    const AttentionEdges edges(View(block), 9000, SelfEdges::kAppended);
    std::vector<torch::Tensor> inputs = {RandomMatrix(1, 9000, 24).requires_grad_(),
                                         RandomMatrix(2, 3000, 24).requires_grad_(),
                                         RandomMatrix(3, 8, 3).requires_grad_()};
    const torch::Tensor scores = DynamicEdgeScores(edges, inputs[0], inputs[1], inputs[2], kSlope);
    const torch::Tensor sums = WeightedSegmentSum(edges, EdgeSoftmax(edges, scores), inputs[0]);
    WeightedSum(sums).backward();
    results.push_back({sums, inputs[0].grad(), inputs[1].grad(), inputs[2].grad()});
  }
  for (size_t run = 1; run < results.size(); ++run) {
    for (size_t i = 0; i < results[run].size(); ++i) EXPECT_TRUE(torch::equal(results[run][i], results[0][i])) << i;
  }
}

TEST(AttentionOpsTest, AllowsEmptyBlocks) {
  const std::vector<uint32_t> no_rows = {0};
  const AttentionEdges edges({no_rows, {}}, 2, SelfEdges::kAppended);
  torch::Tensor source = torch::ones({2, 6}).requires_grad_(), attention = torch::ones({2, 3}).requires_grad_();
  const torch::Tensor scores = DynamicEdgeScores(edges, source, torch::empty({0, 6}), attention, kSlope);
  const torch::Tensor sums = WeightedSegmentSum(edges, EdgeSoftmax(edges, scores), source);
  EXPECT_EQ(sums.size(0), 0);
  sums.sum().backward();
  EXPECT_EQ(source.grad().abs().sum().item<float>(), 0);
  EXPECT_EQ(attention.grad().abs().sum().item<float>(), 0);
}

class EdgeDropoutTest : public testing::Test {
 protected:
  static constexpr int64_t kManyHeads = 19;

  // Whether a weight is kept, by (original id of the source, original id of the destination, head).
  using Fates = std::map<std::tuple<int64_t, int64_t, int64_t>, bool>;

  static Fates RecordFates(const sampler::Block& block, const torch::Tensor& source_ids,
                           const torch::Tensor& destination_ids, uint64_t key, double probability) {
    const AttentionEdges edges(View(block), source_ids.numel(), SelfEdges::kNone);
    const torch::Tensor kept =
        DropEdges(edges, torch::ones({edges.num_edges(), kManyHeads}), {probability, key, source_ids, destination_ids});
    const EdgeEnds ends = ListEnds(block);
    Fates fates;
    for (int64_t e = 0; e < edges.num_edges(); ++e) {
      for (int64_t h = 0; h < kManyHeads; ++h) {
        const auto value = kept[e][h].item<double>();
        EXPECT_TRUE(value == 0 || std::abs(value * (1 - probability) - 1) < 1e-4) << value;
        fates[{source_ids[ends.sources[e].item<int64_t>()].item<int64_t>(),
               destination_ids[ends.destinations[e].item<int64_t>()].item<int64_t>(), h}] = value != 0;
      }
    }
    return fates;
  }
};

TEST_F(EdgeDropoutTest, DependsOnOriginalIdsAndHeads) {
  // The edges 70 -> 50 and 60 -> 50, once from rows 0 and 1, once from rows 1 and 0 and with another destination.
  sampler::Block one, other;
  one.indptr = {0, 2}, one.indices = {0, 1};
  other.indptr = {0, 1, 3}, other.indices = {2, 1, 0};
  const auto ids = [](std::vector<int64_t> values) { return torch::tensor(values, torch::kInt64); };
  const Fates first = RecordFates(one, ids({70, 60}), ids({50}), 9, 0.5);
  const Fates second = RecordFates(other, ids({60, 70, 80}), ids({51, 50}), 9, 0.5);
  for (const auto& [edge, kept] : first) EXPECT_EQ(kept, second.at(edge));
  EXPECT_NE(first, RecordFates(one, ids({70, 60}), ids({50}), 10, 0.5));
}

TEST_F(EdgeDropoutTest, DropsRequestedFraction) {
  const sampler::Block block = RandomBlock(3, 40, 60, 9);
  const Fates fates = RecordFates(block, torch::arange(60), torch::arange(40) + 1000, 4, 0.6);
  std::map<int64_t, double> kept, all;
  for (const auto& [edge, stays] : fates) {
    kept[std::get<2>(edge)] += stays ? 1 : 0;
    all[std::get<2>(edge)] += 1;
  }
  for (int64_t h = 0; h < kManyHeads; ++h) EXPECT_NEAR(kept[h] / all[h], 0.4, 0.15) << "head " << h;
}

}  // namespace
}  // namespace espalier::trainer
