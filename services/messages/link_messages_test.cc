// Pairs of a batch in messages: decoding returns the encoded pairs and refuses inconsistent messages.
#include "services/messages/link_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace espalier::messages {
namespace {

constexpr uint64_t kSeeds = 6, kTypes = 2, kGraphEdges = uint64_t{1} << 33;

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

sampler::LinkPlan PlanOfTwoNegatives() {
  return {.types = std::vector<sampler::LinkType>(kTypes), .negatives = {sampler::NegativeKind::kJoint, 2}};
}

Result<sampler::LinkSeeds> Sent(const sampler::LinkSeeds& links, const sampler::LinkPlan& plan = PlanOfTwoNegatives()) {
  minibatch::v1::LinkSeeds header;
  std::vector<Tensor> tensors;
  EncodeLinkSeeds(links, &header, &tensors);
  ESPALIER_CHECK(tensors.size() == NumLinkTensors(header));
  return DecodeLinkSeeds(header, tensors, plan, {.num_seeds = kSeeds, .num_edges = kGraphEdges});
}

TEST(LinkMessagesTest, PairsRoundTrip) {
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

TEST(LinkMessagesTest, EdgesWithoutNegativesRoundTrip) {
  sampler::LinkPlan plan = PlanOfTwoNegatives();
  plan.negatives = {sampler::NegativeKind::kUniform, 0};
  const Result<sampler::LinkSeeds> got =
      Sent({.sources = {0, 1}, .destinations = {2, 3}, .relations = {0, 1}, .set_ends = {1, 2}}, plan);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->destinations, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(got->set_ends, (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(got->negative_destinations.empty() && got->negative_weights.empty());
}

TEST(LinkMessagesTest, RequestedIdsAndRowsOfEdgesRoundTrip) {
  sampler::LinkPlan plan = PlanOfTwoNegatives();
  plan.edge_columns = {"parts", "amount", "parts"};
  plan.want_pair_ids = true;
  const minibatch::v1::LinkPlan requested = EncodeLinkPlan(plan);
  EXPECT_THAT(requested.edge_columns(), ::testing::ElementsAre("amount", "parts"));
  sampler::LinkSeeds sent = SharedNegatives();
  sent.edge_ids = {GlobalEdgeId(7), GlobalEdgeId(kGraphEdges - 1), GlobalEdgeId(0)};
  sent.rows = {{"amount", Tensor::FromVector<int64_t>({5, 6, 7})},
               {"parts", Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, {3, 2})}};
  const Result<sampler::LinkSeeds> got = Sent(sent, plan);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->edge_ids, sent.edge_ids);
  ASSERT_EQ(got->rows.size(), 2u);
  EXPECT_EQ(got->rows.at("parts").ToString(), "F32 [3, 2]");
  EXPECT_THAT(got->rows.at("parts").values<float>(), ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(got->rows.at("amount").values<int64_t>(), ::testing::ElementsAre(5, 6, 7));

  // A share without edges has no ids, and its rows have the shape of the column.
  sampler::LinkSeeds none{.negatives_per_pair = 2};
  none.rows = {{"amount", Tensor::Zeros(DType::kI64, {0})}, {"parts", Tensor::Zeros(DType::kF32, {0, 2})}};
  const Result<sampler::LinkSeeds> nothing = Sent(none, plan);
  ASSERT_TRUE(nothing.ok()) << nothing.status().ToString();
  EXPECT_EQ(nothing->rows.at("parts").ToString(), "F32 [0, 2]");

  const auto code_of = [&](const std::function<void(sampler::LinkSeeds&)>& change) {
    sampler::LinkSeeds changed = sent;
    change(changed);
    return Sent(changed, plan).status().code();
  };
  EXPECT_EQ(code_of([](auto& links) { links.edge_ids[1] = GlobalEdgeId(kGraphEdges); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& links) { links.edge_ids.pop_back(); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& links) {
              links.rows["amount"] = Tensor::FromVector<int64_t>({5, 6});
            }),
            StatusCode::kInvalidArgument);
  // The message of an older sampler, which does not support ids and rows.
  EXPECT_EQ(code_of([](auto& links) { links.edge_ids.clear(); }), StatusCode::kUnimplemented);
  EXPECT_EQ(code_of([](auto& links) { links.rows.clear(); }), StatusCode::kUnimplemented);
  plan.want_pair_ids = false;
  EXPECT_EQ(Sent(sent, plan).status().code(), StatusCode::kInvalidArgument);
}

TEST(LinkMessagesTest, RefusesInconsistentMessages) {
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
}  // namespace espalier::messages
