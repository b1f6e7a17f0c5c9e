// Learnable rows on servers, read and trained by a program: steps compared with SGD by torch on the whole table.
#include "services/trainer/adapters/dist_embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/base/philox.h"
#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"

namespace espalier::adapters {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSize = 5;
constexpr double kRate = 0.05;

DistEmbeddingOptions SgdRows() {
  return {.rows = sampler::RowSpace::Nodes(NodeTypeId(0)),
          .size = kSize,
          .name = "emb",
          .initializer = sampler::Initializer::Uniform(-1, 1, 3),
          .optimizer = {.type = sampler::SparseOptimizerType::kSgd}};
}

std::shared_ptr<sampler::PartitionedGraph> OpenGraph(const client::testing::ServedGraph& served) {
  auto session = client::Connect({.addresses = served.addresses()});
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  return session->graph;
}

torch::Tensor AllIds(const sampler::PartitionedGraph& graph) {
  return torch::arange(static_cast<int64_t>(graph.book().num_nodes(NodeTypeId(0))), torch::kInt64);
}

torch::Tensor Rows(DistEmbedding& embedding, const torch::Tensor& ids) {
  Result<torch::Tensor> rows = embedding(ids);
  ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
  return *std::move(rows);
}

// Returns i64 [40] ids of at most 30 nodes, so that many ids repeat.
torch::Tensor DrawIds(uint64_t step, uint64_t stream) {
  PhiloxStream random(step, stream);
  torch::Tensor ids = torch::empty({40}, torch::kInt64);
  for (int64_t i = 0; i < ids.numel(); ++i) ids.data_ptr<int64_t>()[i] = random.NextBelow(30) * 7;
  return ids;
}

torch::Tensor ComputeLoss(const torch::Tensor& heads, const torch::Tensor& tails) {
  return (heads * tails).sum() + heads.pow(2).sum();
}

// Returns the graph's store without ownership; the graph must outlive it.
std::shared_ptr<sampler::EmbeddingStore> GetStore(sampler::PartitionedGraph& graph) {
  return {std::shared_ptr<void>(), &graph.embeddings()};
}

std::unique_ptr<DistEmbedding> Make(sampler::PartitionedGraph& graph, collective::Collective& group,
                                    const DistEmbeddingOptions& options) {
  auto embedding = DistEmbedding::Create(GetStore(graph), group, options);
  ESPALIER_CHECK(embedding.ok()) << embedding.status().ToString();
  return *std::move(embedding);
}

// Returns the table after six steps of SGD by torch, of which the third has no gradient.
torch::Tensor DenseSteps(const torch::Tensor& initial) {
  torch::Tensor table = initial.clone().requires_grad_();
  for (uint64_t step = 0; step < 6; ++step) {
    if (step == 2) continue;
    ComputeLoss(table.index_select(0, DrawIds(step, 1)), table.index_select(0, DrawIds(step, 2))).backward();
    const torch::NoGradGuard no_grad;
    table -= kRate * table.grad();
    table.mutable_grad() = torch::Tensor();
  }
  return table.detach();
}

TEST(DistEmbeddingTest, StepsMatchTorchOnWholeTable) {
  for (const uint32_t num_partitions : {1u, 3u}) {
    const client::testing::ServedGraph served(client::testing::SmallGraph(), num_partitions);
    const auto graph = OpenGraph(served);
    collective::SelfCollective group;
    const auto embedding = Make(*graph, group, SgdRows());
    EXPECT_EQ(embedding->size(), kSize);
    torch::Tensor initial;
    {
      const torch::NoGradGuard no_grad;
      initial = Rows(*embedding, AllIds(*graph));
      EXPECT_FALSE(initial.requires_grad());
    }
    for (uint64_t step = 0; step < 6; ++step) {
      const torch::Tensor heads = Rows(*embedding, DrawIds(step, 1)), tails = Rows(*embedding, DrawIds(step, 2));
      EXPECT_TRUE(heads.is_leaf() && heads.requires_grad());
      if (step != 2) ComputeLoss(heads, tails).backward();
      const Status stepped = embedding->Step(kRate);
      ASSERT_TRUE(stepped.ok()) << stepped.ToString();
    }
    EXPECT_EQ(embedding->version(), 6u);
    const torch::NoGradGuard no_grad;
    const torch::Tensor learned = Rows(*embedding, AllIds(*graph));
    EXPECT_FALSE(torch::allclose(learned, initial, 0.01, 0.01)) << "the test moves nothing";
    const torch::AutoGradMode with_grad(true);
    EXPECT_TRUE(torch::allclose(learned, DenseSteps(initial), 1e-4, 1e-5));
    ASSERT_TRUE(embedding->Drop().ok());
  }
}

// One read has a sparse gradient, the other a dense one.
TEST(DistEmbeddingTest, TakesSparseGradients) {
  namespace F = torch::nn::functional;
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  const auto embedding = Make(*graph, group, SgdRows());
  torch::Tensor initial;
  {
    const torch::NoGradGuard no_grad;
    initial = Rows(*embedding, AllIds(*graph));
  }
  const torch::Tensor nodes = torch::tensor({8, 3, 700}, torch::kInt64), other = torch::tensor({3}, torch::kInt64);
  const torch::Tensor rows = Rows(*embedding, nodes), another = Rows(*embedding, other);
  const torch::Tensor picked = torch::tensor({1, 1, 2}, torch::kInt64);  // indices into `rows`; row 0 has no gradient
  (F::embedding(picked, rows, F::EmbeddingFuncOptions().sparse(true)).sum() + another.sum()).backward();
  ASSERT_TRUE(rows.grad().is_sparse());
  const Status stepped = embedding->Step(kRate);
  ASSERT_TRUE(stepped.ok()) << stepped.ToString();

  const torch::NoGradGuard no_grad;
  torch::Tensor expected = initial.clone();
  expected[3] -= 3 * kRate;
  expected[700] -= kRate;
  EXPECT_TRUE(torch::allclose(Rows(*embedding, AllIds(*graph)), expected, 1e-5, 1e-6));
}

// In every other step, two ranks have half of the loss each; in the other steps the first rank has all of it and the
// second rank reads nothing.
TEST(DistEmbeddingTest, RanksSumGradients) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  auto ranks = collective::MakeInProcessGroup(2);
  torch::Tensor initial, learned;
  const auto run = [&](uint32_t rank) {
    collective::Collective& group = *ranks[rank];
    const auto embedding = Make(*graph, group, SgdRows());
    if (rank == 0) {
      const torch::NoGradGuard no_grad;
      initial = Rows(*embedding, AllIds(*graph));
    }
    for (uint64_t step = 0; step < 6; ++step) {
      const bool shared = step % 2 == 0;
      const int64_t first = rank == 0 ? 0 : 20, last = rank == 0 && shared ? 20 : 40;
      if (step != 2 && (rank == 0 || shared)) {
        const torch::Tensor heads = Rows(*embedding, DrawIds(step, 1).slice(0, first, last));
        const torch::Tensor tails = Rows(*embedding, DrawIds(step, 2).slice(0, first, last));
        ComputeLoss(heads, tails).backward();
      }
      const Status stepped = embedding->Step(kRate);
      EXPECT_TRUE(stepped.ok()) << stepped.ToString();
      EXPECT_TRUE(group.Barrier(Soon()).ok());
    }
    if (rank == 0) {
      const torch::NoGradGuard no_grad;
      learned = Rows(*embedding, AllIds(*graph));
    }
    EXPECT_TRUE(embedding->Drop().ok());
  };
  {
    std::jthread second([&] { run(1); });
    run(0);
  }
  EXPECT_TRUE(torch::allclose(learned, DenseSteps(initial), 1e-4, 1e-5));
}

// In DGL, reads without a step accumulate; here they must not.
TEST(DistEmbeddingTest, DroppedReadsAreForgotten) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  const auto embedding = Make(*graph, group, SgdRows());
  const torch::Tensor ids = torch::tensor({4, 0, 4}, torch::kInt64);
  {
    const torch::NoGradGuard no_grad;
    for (int i = 0; i < 3; ++i) Rows(*embedding, ids);
    EXPECT_EQ(embedding->num_pending_reads(), 0u);
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Rows(*embedding, ids).sum().requires_grad());
    EXPECT_LE(embedding->num_pending_reads(), 1u);
  }
  // Reads that may still get a gradient or have one are kept, although the program does not refer to their rows.
  const torch::Tensor first_loss = Rows(*embedding, ids).sum();
  Rows(*embedding, ids).sum().backward();
  Rows(*embedding, ids);
  EXPECT_EQ(embedding->num_pending_reads(), 3u);
  first_loss.backward();
  torch::Tensor initial;
  {
    const torch::NoGradGuard no_grad;
    initial = Rows(*embedding, AllIds(*graph));
  }
  EXPECT_EQ(embedding->num_pending_reads(), 2u);
  ASSERT_TRUE(embedding->Step(kRate).ok());
  EXPECT_EQ(embedding->num_pending_reads(), 0u);
  torch::Tensor expected = initial.clone();
  expected[0] -= 2 * kRate;
  expected[4] -= 4 * kRate;
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::allclose(Rows(*embedding, AllIds(*graph)), expected, 1e-5, 1e-6));
}

TEST(DistEmbeddingTest, AbandonedBatchChangesNothing) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  const auto embedding = Make(*graph, group, SgdRows());
  const torch::Tensor rows = Rows(*embedding, torch::tensor({4, 0, 4}, torch::kInt64));
  const torch::Tensor before = rows.detach().clone();
  rows.sum().backward();
  embedding->Forget();
  EXPECT_EQ(embedding->num_pending_reads(), 0u);
  ASSERT_TRUE(embedding->Step(kRate).ok());
  EXPECT_EQ(embedding->version(), 1u);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(Rows(*embedding, torch::tensor({4, 0, 4}, torch::kInt64)), before));
}

// A row that was read twice has two gradients, as in DGL's sparse optimizers.
TEST(DistEmbeddingTest, MeanCountsEveryReadOfRow) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  DistEmbeddingOptions options = SgdRows();
  options.optimizer.duplicates = sampler::DuplicateGradients::kMean;
  const auto embedding = Make(*graph, group, options);
  const torch::Tensor twice = torch::tensor({4, 0, 4}, torch::kInt64), once = torch::tensor({4}, torch::kInt64);
  const torch::Tensor first = Rows(*embedding, twice), second = Rows(*embedding, once);
  torch::Tensor expected = first.detach().clone();
  (first.sum() + 4 * second.sum()).backward();
  ASSERT_TRUE(embedding->Step(kRate).ok());
  const torch::NoGradGuard no_grad;
  expected -= kRate * torch::tensor({{2.0f}, {1.0f}, {2.0f}});  // (1 + 1 + 4) / 3 = 2, and 1
  EXPECT_TRUE(torch::allclose(Rows(*embedding, twice), expected, 1e-5, 1e-6));
}

// Rows of edges, and own rows that stand for neither nodes nor edges.
TEST(DistEmbeddingTest, RowsBelongToNodesEdgesOrOwnSpace) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 3);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  DistEmbeddingOptions options = SgdRows();
  options.rows = sampler::RowSpace::Edges(EdgeTypeId(0));
  const auto of_edges = Make(*graph, group, options);
  options.rows = sampler::RowSpace::Own(7);
  const auto own = Make(*graph, group, options);
  const auto last_edge = static_cast<int64_t>(graph->book().num_edges(EdgeTypeId(0))) - 1;
  const torch::Tensor edge_ids = torch::tensor({last_edge, int64_t{0}, last_edge}, torch::kInt64);
  const torch::Tensor own_ids = torch::tensor({0, 6, 3}, torch::kInt64);
  const torch::Tensor edges = Rows(*of_edges, edge_ids), relations = Rows(*own, own_ids);
  EXPECT_FALSE(torch::equal(edges[0], edges[1]));
  (edges * relations).sum().backward();
  torch::Tensor expected_edges = edges.detach().clone(), expected_own = relations.detach().clone();
  for (const DistEmbedding* embedding : {of_edges.get(), own.get()}) EXPECT_EQ(embedding->version(), 0u);
  ASSERT_TRUE(of_edges->Step(kRate).ok() && own->Step(kRate).ok());
  const torch::NoGradGuard no_grad;
  expected_own -= kRate * edges;
  expected_edges[1] -= kRate * relations[1];
  expected_edges[0] -= kRate * (relations[0] + relations[2]);
  expected_edges[2] = expected_edges[0];
  EXPECT_TRUE(torch::allclose(Rows(*of_edges, edge_ids), expected_edges, 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(Rows(*own, own_ids), expected_own, 1e-5, 1e-6));

  const std::vector<GlobalEdgeId> some_edges = {GlobalEdgeId(0)};
  const std::vector<GlobalNodeId> some_nodes = {GlobalNodeId(0)};
  EXPECT_TRUE((*of_edges)(some_edges).ok());
  EXPECT_THAT((*of_edges)(some_nodes).status().message(), HasSubstr("'emb' are not those of nodes"));
  EXPECT_THAT((*own)(some_edges).status().message(), HasSubstr("are not those of edges"));
  EXPECT_EQ((*own)(torch::tensor({7}, torch::kInt64)).status().code(), StatusCode::kInvalidArgument);
}

TEST(DistEmbeddingTest, Bf16RowsAreRoundedF32Rows) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  DistEmbeddingOptions options = SgdRows();
  options.initializer.stream = "rows";
  const torch::Tensor ids = torch::tensor({4, 0, 4}, torch::kInt64);
  const auto whole = Make(*graph, group, options);
  options.name = "half";
  options.dtype = DType::kBF16;
  const auto half = Make(*graph, group, options);
  EXPECT_TRUE(torch::equal(Rows(*half, ids), Rows(*whole, ids).to(torch::kBFloat16).to(torch::kFloat)));
}

// One server creates the rows, the other rejects them.
TEST(DistEmbeddingTest, IncompleteRowsAreDropped) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  const DistEmbeddingOptions options = SgdRows();
  sampler::TensorSpec other{.id = {.rows = options.rows, .name = options.name}};
  other.maker = 1;
  const auto first = served.Remote(0), second = served.Remote(1);
  const auto taken = client::testing::Await<sampler::TensorDescription>(
      [&](auto done) { second->tensors().Create(other, /*creation=*/1, Soon(), done); });
  ASSERT_TRUE(taken.ok()) << taken.status().ToString();

  const Status refused = DistEmbedding::Create(GetStore(*graph), group, options).status();
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists) << refused.ToString();
  const auto left = client::testing::Await<sampler::TensorDescription>(
      [&](auto done) { first->tensors().Describe(other.id, Soon(), done); });
  EXPECT_EQ(left.status().code(), StatusCode::kNotFound);
}

TEST(DistEmbeddingTest, ReportsInvalidArgumentsAndLostRows) {
  client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  const auto graph = OpenGraph(served);
  collective::SelfCollective group;
  DistEmbeddingOptions options = SgdRows();
  options.size = 0;
  EXPECT_EQ(DistEmbedding::Create(GetStore(*graph), group, options).status().code(), StatusCode::kInvalidArgument);
  options = SgdRows();
  options.rows = sampler::RowSpace::Nodes(NodeTypeId(9));
  EXPECT_EQ(DistEmbedding::Create(GetStore(*graph), group, options).status().code(), StatusCode::kInvalidArgument);

  const auto embedding = Make(*graph, group, SgdRows());
  EXPECT_EQ(Rows(*embedding, torch::empty({0}, torch::kInt64)).sizes(), torch::IntArrayRef({0, kSize}));
  EXPECT_THAT((*embedding)(torch::zeros({3})).status().message(), HasSubstr("expected a Long tensor"));
  EXPECT_EQ((*embedding)(torch::tensor({-1}, torch::kInt64)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ((*embedding)(torch::tensor({1500}, torch::kInt64)).status().code(), StatusCode::kInvalidArgument);

  served.Restart(1);
  const Status lost = (*embedding)(AllIds(*graph)).status();
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_THAT(lost.message(), HasSubstr("has lost the rows"));
}

}  // namespace
}  // namespace espalier::adapters
