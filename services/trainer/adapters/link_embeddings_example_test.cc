// The program of docs/learnable-rows.md, as it stands there (docs/tests/examples_test.py compares), and run: one rank,
// and two, over two servers.
#include <gtest/gtest.h>

#include <thread>

#include "services/client/edge_data_loader.h"
#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/trainer/adapters/dist_embedding.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;
using adapters::DistEmbedding;

torch::Tensor IndicesOf(const std::vector<uint32_t>& rows) {
  const std::vector<int64_t> indices(rows.begin(), rows.end());
  return torch::tensor(indices, torch::kInt64);
}

// A row for each node, so that rows of linked nodes point the same way; the mean loss of each epoch.
Result<std::vector<double>> LearnLinks(const DistGraph& graph, collective::Collective& group, uint32_t epochs) {
  const NodeTypeId node(0);  // a graph of one node type and one relation
  const EdgeTypeId link(0);
  EdgeLoaderOptions options;
  options.batch_size = 64;  // links of all ranks together
  options.negatives = {sampler::NegativeKind::kUniform, 1};
  options.reverse_types = {{link, link}};
  options.sampling.layers = {{{0}}};  // no neighbours
  const EdgesOfSplit links{{link}, "links"};
  const auto as_drawn = [](sampler::MiniBatch batch) -> Result<sampler::MiniBatch> { return batch; };
  ASSIGN_OR_RETURN(const auto loader, DistEdgeDataLoader::Make(graph, links, options, as_drawn));
  ASSIGN_OR_RETURN(const auto emb, DistEmbedding::Create(graph.partitions().embeddings(), group,
                                                         {.rows = RowSpace::Nodes(node),
                                                          .size = 16,
                                                          .name = "node",
                                                          .initializer = sampler::Initializer::Uniform(-0.5, 0.5, 1)}));
  std::vector<double> losses;
  for (uint32_t epoch = 0; epoch < epochs; ++epoch) {
    RETURN_IF_ERROR(loader->StartEpoch(epoch));
    double sums[] = {0, 0};  // of losses, of links
    for (;;) {
      ASSIGN_OR_RETURN(const std::optional<sampler::MiniBatch> batch, loader->Next());
      if (!batch) break;  // after the same number on every rank
      ASSIGN_OR_RETURN(const torch::Tensor rows, (*emb)(batch->nodes[node.value]));
      const torch::Tensor sources = rows.index_select(0, IndicesOf(batch->links->sources));
      const torch::Tensor ends = rows.index_select(0, IndicesOf(batch->links->destinations));
      const torch::Tensor others = rows.index_select(0, IndicesOf(batch->links->negative_destinations));
      const std::vector<uint8_t>& weights = batch->links->negative_weights;  // 0: an edge of the batch after all
      const torch::Tensor weigh = torch::tensor(std::vector<float>(weights.begin(), weights.end()));
      const torch::Tensor loss =
          torch::softplus(-(sources * ends).sum(1)).sum() + (torch::softplus((sources * others).sum(1)) * weigh).sum();
      (loss / static_cast<double>(batch->global_num_seeds)).backward();  // an empty share has no gradient
      RETURN_IF_ERROR(emb->Step(/*learning_rate=*/0.1));                 // Adagrad, on the rows' owners
      double of_step[] = {loss.item<double>(), static_cast<double>(batch->links->sources.size())};
      RETURN_IF_ERROR(group.AllReduceSum(std::span<double>(of_step), graph.CallDeadline()));  // where ranks meet
      for (int i : {0, 1}) sums[i] += of_step[i];
    }
    losses.push_back(sums[0] / sums[1]);
  }
  RETURN_IF_ERROR(emb->Drop());
  return losses;
}
// [example]

std::vector<std::vector<double>> LearnTogether(uint32_t world_size) {
  const client::testing::ServedGraph served(client::testing::SmallGraph(), 2);
  auto session = Connect({.addresses = served.addresses()});
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  auto group = collective::MakeInProcessGroup(world_size);
  std::vector<std::vector<double>> losses(world_size);
  {
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      ranks.emplace_back([&, rank] {
        Context context;
        context.rank = Rank(rank);
        context.world_size = world_size;
        const DistGraph graph("small", session->graph, context);
        Result<std::vector<double>> learned = LearnLinks(graph, *group[rank], 20);
        ESPALIER_CHECK(learned.ok()) << learned.status().ToString();
        losses[rank] = *std::move(learned);
      });
    }
  }
  return losses;
}

TEST(LinkEmbeddingsExampleTest, LearnsAndRanksLearnTogetherWhatOneLearns) {
  const std::vector<double> alone = LearnTogether(1)[0];
  ASSERT_EQ(alone.size(), 20u);
  EXPECT_LT(alone.back(), 0.9 * alone.front());
  const std::vector<std::vector<double>> together = LearnTogether(2);
  EXPECT_EQ(together[0], together[1]);
  for (size_t epoch = 0; epoch < alone.size(); ++epoch) EXPECT_NEAR(together[0][epoch], alone[epoch], 1e-2);
}

}  // namespace example
