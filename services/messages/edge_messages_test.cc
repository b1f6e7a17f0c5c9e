// Labeled edges of a batch in messages: decoding returns the encoded edges and refuses inconsistent messages.
#include "services/messages/edge_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace espalier::messages {
namespace {

constexpr uint64_t kEndSeeds = 6;

// Three edges, with two numbers each.
sampler::EdgeSeeds ThreeEdges() {
  return {
      .sources = {0, 1, 0}, .destinations = {3, 4, 5}, .labels = Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, {3, 2})};
}

Result<sampler::EdgeSeeds> SentEdges(const sampler::EdgeSeeds& edges) {
  std::vector<Tensor> tensors;
  EncodeEdgeSeeds(edges, &tensors);
  ESPALIER_CHECK(tensors.size() == kEdgeTensors);
  const std::span<const Tensor> all(tensors);
  return DecodeEdgeSeeds(all.first<kEdgeTensors>(), kEndSeeds);
}

TEST(EdgeMessagesTest, EdgesRoundTrip) {
  const sampler::EdgeSeeds sent = ThreeEdges();
  const Result<sampler::EdgeSeeds> got = SentEdges(sent);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->sources, sent.sources);
  EXPECT_EQ(got->destinations, sent.destinations);
  EXPECT_EQ(got->labels.ToString(), "F32 [3, 2]");
  EXPECT_TRUE(std::ranges::equal(got->labels.values<float>(), sent.labels.values<float>()));
  const Result<sampler::EdgeSeeds> none = SentEdges({.labels = Tensor::Zeros(DType::kI64, {0})});
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_TRUE(none->sources.empty() && none->destinations.empty() && none->labels.empty());
}

TEST(EdgeMessagesTest, RefusesInconsistentMessages) {
  using Edges = sampler::EdgeSeeds;
  const std::vector<std::function<void(Edges&)>> damages = {
      [](Edges& edges) { edges.sources[1] = kEndSeeds; },
      [](Edges& edges) { edges.destinations[2] = kEndSeeds; },
      [](Edges& edges) { edges.sources.push_back(0); },
      [](Edges& edges) { edges.destinations.pop_back(); },
      [](Edges& edges) {
        edges.labels = Tensor::Zeros(DType::kF32, {2, 3});
      },
      [](Edges& edges) { edges.labels = Tensor::Zeros(DType::kF32, {}); },
      [](Edges& edges) {
        edges.labels = Tensor::Zeros(DType::kBool, {3});
        edges.labels.mutable_bytes()[1] = std::byte{2};
      },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    sampler::EdgeSeeds edges = ThreeEdges();
    damages[i](edges);
    EXPECT_EQ(SentEdges(edges).status().code(), StatusCode::kInvalidArgument) << i;
  }
}

TEST(EdgeMessagesTest, PlansRoundTrip) {
  for (const sampler::EdgePlan& sent :
       {sampler::EdgePlan{.edge_type = EdgeTypeId(3), .label = "rating"},
        sampler::EdgePlan{.edge_type = EdgeTypeId(1), .label = "x", .exclude_batch = true},
        sampler::EdgePlan{
            .edge_type = EdgeTypeId(1), .label = "x", .exclude_batch = true, .exclude_reverse = EdgeTypeId(0)}}) {
    const Result<sampler::EdgePlan> got = DecodeEdgePlan(EncodeEdgePlan(sent));
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->edge_type, sent.edge_type);
    EXPECT_EQ(got->label, sent.label);
    EXPECT_EQ(got->exclude_batch, sent.exclude_batch);
    EXPECT_EQ(got->exclude_reverse, sent.exclude_reverse);
  }
  minibatch::v1::EdgePlan far;
  far.set_edge_type(1 << 20);
  EXPECT_EQ(DecodeEdgePlan(far).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::messages
