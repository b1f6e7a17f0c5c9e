// Runs the example over two servers: one rank and two ranks learn nearly the same, and a resumed run gives the same
// result as an uninterrupted one.
#include "link_embeddings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/client/session/session.h"
#include "services/client/tensors/saved_tensors.h"
#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/storage/testing/temporary_folder.h"

namespace example {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTrainingLinks = 200;  // training links of SmallGraph()

// Returns the result of each rank of a run on new servers.
std::vector<LinkResult> LearnTogether(uint32_t world_size, const LinkOptions& options) {
  const espalier::client::testing::ServedGraph served(espalier::client::testing::SmallGraph(), 2);
  auto session = espalier::client::Connect({.addresses = served.addresses()});
  ESPALIER_CHECK(session.ok()) << session.status().ToString();
  auto group = espalier::collective::MakeInProcessGroup(world_size);
  std::vector<LinkResult> results(world_size);
  {
    std::vector<std::jthread> ranks;
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      ranks.emplace_back([&, rank] {
        espalier::client::Context context;
        context.rank = espalier::Rank(rank);
        context.world_size = world_size;
        const espalier::client::DistGraph graph("small", session->graph, context);
        espalier::Result<LinkResult> learned = LearnLinks(graph, *group[rank], options);
        ESPALIER_CHECK(learned.ok()) << learned.status().ToString();
        results[rank] = *std::move(learned);
      });
    }
  }
  return results;
}

void ExpectSame(const LinkResult& result, const LinkResult& expected) {
  EXPECT_EQ(result.losses, expected.losses);
  EXPECT_EQ(result.ends_counted, expected.ends_counted);
  EXPECT_EQ(result.rows, expected.rows);
}

TEST(LinkEmbeddingsTest, LearnsWithOneAndSeveralRanks) {
  const LinkResult alone = LearnTogether(1, {.epochs = 20})[0];
  ASSERT_EQ(alone.losses.size(), 20u);
  EXPECT_LT(alone.losses.back(), 0.9 * alone.losses.front());
  EXPECT_EQ(alone.ends_counted, 2 * 20 * kTrainingLinks);
  EXPECT_EQ(alone.rows.size(), 1500u * 16);
  const std::vector<LinkResult> together = LearnTogether(2, {.epochs = 20});
  ExpectSame(together[1], together[0]);
  EXPECT_EQ(together[0].ends_counted, alone.ends_counted);
  for (size_t epoch = 0; epoch < 20; ++epoch) EXPECT_NEAR(together[0].losses[epoch], alone.losses[epoch], 1e-2);
}

TEST(LinkEmbeddingsTest, ResumesFromLastSave) {
  const espalier::storage::TemporaryFolder folder;
  const LinkResult undisturbed = LearnTogether(2, {.epochs = 4})[0];
  LearnTogether(2, {.epochs = 2, .folder = folder.path()});
  const std::vector<LinkResult> later = LearnTogether(2, {.epochs = 4, .folder = folder.path(), .resume = true});
  ExpectSame(later[0], undisturbed);
  ExpectSame(later[1], undisturbed);

  // A run that does not resume removes earlier saves.
  const LinkResult anew = LearnTogether(2, {.epochs = 1, .folder = folder.path()})[0];
  EXPECT_EQ(anew.losses, std::vector<double>(undisturbed.losses.begin(), undisturbed.losses.begin() + 1));
  const auto saved = espalier::client::ListSavedTensors(folder.path());
  ASSERT_TRUE(saved.ok()) << saved.status().ToString();
  EXPECT_THAT(*saved, ElementsAre("epochs-1001"));
}

}  // namespace
}  // namespace example
