// Runs the example of docs/saved-tensors.md with learnable rows. docs/tests/examples_test.py compares the lines between
// the [example] marks with the page.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "services/client/tensors/saved_embeddings.h"
#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/adapters/dist_embedding.h"

namespace example {

// [example]
using namespace espalier;
using namespace espalier::client;
using adapters::DistEmbedding;

// Learns rows of authors. Rank 0 saves them after each epoch, and all ranks resume from the newest save of an earlier
// run.
Result<std::unique_ptr<DistEmbedding>> LearnAuthors(
    const DistGraph& graph, collective::Collective& group, NodeTypeId author, size_t epochs, const std::string& folder,
    const std::function<Status(DistEmbedding& authors, size_t epoch)>& run_epoch) {
  const adapters::DistEmbeddingOptions options{.rows = RowSpace::Nodes(author), .size = 16, .name = "author"};
  ASSIGN_OR_RETURN(const std::vector<std::string> saved, ListSavedTensors(folder));
  std::unique_ptr<SavedEmbedding> kept;  // null: rows get their initial values
  if (!saved.empty()) {
    ASSIGN_OR_RETURN(kept, SavedEmbedding::Open(graph, folder + "/" + saved.back(), {options.rows, options.name}));
  }
  ASSIGN_OR_RETURN(auto authors, DistEmbedding::Create(graph.embeddings(), group, options, kept.get()));
  for (size_t epoch = saved.size(); epoch < epochs; ++epoch) {
    RETURN_IF_ERROR(run_epoch(*authors, epoch));
    if (group.rank() != Rank(0)) continue;  // at most one step ahead of the rows that rank 0 saves
    const std::string name = "epochs-" + std::to_string(1001 + epoch);
    RETURN_IF_ERROR(SaveTensors(graph, {}, folder + "/" + name, {.embeddings = {authors->Now()}}));
  }
  return authors;
}
// [example]

constexpr NodeTypeId kAuthor(0);
constexpr int kStepsOfAnEpoch = 3;

// Trains up to a total of `epochs` epochs with `num_ranks` ranks and as many servers; returns the number of epochs that
// each rank has run.
size_t LearnWith(uint32_t num_ranks, size_t epochs, const std::string& folder) {
  const client::testing::ServedGraph served(client::testing::SmallTypedGraph(), num_ranks);
  auto session = Connect({.addresses = served.addresses()});
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  const auto groups = collective::MakeInProcessGroup(num_ranks);
  std::vector<size_t> epochs_run(num_ranks);
  {
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
      ranks.emplace_back([&, rank] {
        Context context;
        context.rank = Rank(rank);
        context.world_size = num_ranks;
        const DistGraph graph("small", session->graph, context);
        const auto run_epoch = [&](DistEmbedding& authors, size_t) -> Status {
          ++epochs_run[rank];
          for (int step = 0; step < kStepsOfAnEpoch; ++step) {
            ASSIGN_OR_RETURN(const torch::Tensor rows, authors(torch::tensor({3, 8}, torch::kInt64)));
            rows.sum().backward();
            RETURN_IF_ERROR(authors.Step(0.1));
            RETURN_IF_ERROR(groups[rank]->Barrier(graph.CallDeadline()));
          }
          return Status();
        };
        const auto authors = LearnAuthors(graph, *groups[rank], kAuthor, epochs, folder, run_epoch);
        ESPALIER_CHECK(authors.ok()) << authors.status().ToString();
        EXPECT_EQ((*authors)->version(), epochs * kStepsOfAnEpoch);
        EXPECT_TRUE((*authors)->Drop().ok());
      });
    }
  }
  for (const size_t of_rank : epochs_run) EXPECT_EQ(of_rank, epochs_run[0]);
  return epochs_run[0];
}

TEST(SavedEmbeddingExampleTest, ResumesWithOtherRanksAndServers) {
  const storage::TemporaryFolder folder;
  EXPECT_EQ(LearnWith(2, 2, folder.path()), 2u);
  EXPECT_EQ(LearnWith(1, 5, folder.path()), 3u);
  EXPECT_EQ(LearnWith(3, 5, folder.path()), 0u);
}

}  // namespace example
