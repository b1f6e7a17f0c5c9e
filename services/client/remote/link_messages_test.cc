// A batch's pairs on the wire: what comes is what was sent, and whatever does not add up is refused.
#include "services/client/remote/link_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/server/link_messages.h"

namespace espalier::client {
namespace {

constexpr uint64_t kSeeds = 6, kTypes = 2;

// Three edges, of which the first two share a set of two negatives.
sampler::LinkSeeds SharedNegatives() {
  return {.negatives_per_pair = 2,
          .sources = {0, 1, 2},
          .destinations = {3, 4, 5},
          .relations = {0, 1, 1},
          .set_ends = {2, 3},
          .negative_destinations = {5, 4, 3, 3},
          .negative_sources = {},
          .negative_weights = {1, 0, 1, 1, 0, 1}};
}

Result<sampler::LinkSeeds> Sent(const sampler::LinkSeeds& links) {
  minibatch::v1::LinkSeeds header;
  header.set_negatives_per_edge(links.negatives_per_pair);
  std::vector<Tensor> tensors;
  server::AppendLinks(links, &tensors);
  ESPALIER_CHECK(tensors.size() == kLinkTensors);
  const std::span<const Tensor> all(tensors);
  return LinkSeedsOf(header, all.first<kLinkTensors>(), kSeeds, kTypes);
}

TEST(LinkMessagesTest, PairsArriveAsTheyWere) {
  const sampler::LinkSeeds sent = SharedNegatives();
  const Result<sampler::LinkSeeds> got = Sent(sent);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->negatives_per_pair, sent.negatives_per_pair);
  EXPECT_EQ(got->sources, sent.sources);
  EXPECT_EQ(got->destinations, sent.destinations);
  EXPECT_EQ(got->relations, sent.relations);
  EXPECT_EQ(got->set_ends, sent.set_ends);
  EXPECT_EQ(got->negative_destinations, sent.negative_destinations);
  EXPECT_EQ(got->negative_weights, sent.negative_weights);
  const Result<sampler::LinkSeeds> empty = Sent({.negatives_per_pair = 2});
  ASSERT_TRUE(empty.ok()) << empty.status().ToString();
  EXPECT_TRUE(empty->sources.empty() && empty->set_ends.empty());
}

TEST(LinkMessagesTest, RefusesWhatDoesNotAddUp) {
  using Links = sampler::LinkSeeds;
  const std::vector<std::function<void(Links&)>> damages = {
      [](Links& links) { links.negatives_per_pair = 0; },
      [](Links& links) { links.negatives_per_pair = 3; },
      [](Links& links) { links.negatives_per_pair = ~0u; },
      [](Links& links) { links.sources[1] = kSeeds; },
      [](Links& links) { links.sources.push_back(0); },
      [](Links& links) { links.destinations.pop_back(); },
      [](Links& links) { links.relations[2] = kTypes; },
      [](Links& links) { links.set_ends = {}; },
      [](Links& links) {
        links.set_ends = {0, 3};
      },
      [](Links& links) {
        links.set_ends = {3, 3};
      },
      [](Links& links) {
        links.set_ends = {1, 2};
      },
      [](Links& links) {
        links.set_ends = {2, 4};
      },
      [](Links& links) { links.negative_destinations[3] = kSeeds; },
      [](Links& links) { links.negative_destinations.pop_back(); },
      [](Links& links) { links.negative_sources = {0, 1, 2, 3, 4, 5}; },  // of edges that share negatives
      [](Links& links) { links.negative_weights.pop_back(); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    sampler::LinkSeeds links = SharedNegatives();
    damages[i](links);
    EXPECT_EQ(Sent(links).status().code(), StatusCode::kInvalidArgument) << i;
  }
}

}  // namespace
}  // namespace espalier::client
