// A whole batch in messages: decoding returns the encoded batch and refuses numbers that a model could not index with.
#include "services/messages/mini_batch_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "services/rpc/frame.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::messages {
namespace {

constexpr EdgeTypeId kAToB(0), kBToA(1);

graph::PartitionBook BookOfTwoRelations() {
  const auto schema = graph::GraphSchema::Make({"a", "b"}, {{"a", "to", "b"}, {"b", "to", "a"}});
  ESPALIER_CHECK(schema.ok()) << schema.status().ToString();
  const auto book = graph::PartitionBook::Make(*schema, {{0, 10}, {0, 10}}, {{0, 100}, {0, 100}});
  ESPALIER_CHECK(book.ok()) << book.status().ToString();
  return *book;
}

sampler::SamplingSpec TwoLayersOfBothRelations() {
  sampler::SamplingSpec spec;
  for (int layer = 0; layer < 2; ++layer) spec.layers.push_back(sampler::LayerSpec{.fanouts = {2, 2}});
  return spec;
}

// The seed a0 has in-edges from b5 and b6. The second hop expands b5 and b6, with in-edges from a0, a1 and a2, and a0
// again.
sampler::MiniBatch TwoLayersFromOneSeed() {
  sampler::MiniBatch batch;
  batch.step = 3;
  batch.num_seeds = 1;
  batch.global_num_seeds = 2;
  batch.nodes = {{GlobalNodeId(0), GlobalNodeId(1), GlobalNodeId(2)}, {GlobalNodeId(5), GlobalNodeId(6)}};
  sampler::BatchLayer first{.blocks = {}, .num_inputs = {3, 2}, .num_outputs = {1, 2}};
  first.blocks.push_back({.edge_type = kAToB, .indptr = {0, 1, 3}, .indices = {1, 0, 2}, .edge_ids = {}});
  first.blocks.push_back({.edge_type = kBToA, .indptr = {0, 1}, .indices = {1}, .edge_ids = {}});
  sampler::BatchLayer last{.blocks = {}, .num_inputs = {1, 2}, .num_outputs = {1, 0}};
  last.blocks.push_back({.edge_type = kAToB, .indptr = {0}, .indices = {}, .edge_ids = {}});
  last.blocks.push_back({.edge_type = kBToA, .indptr = {0, 2}, .indices = {0, 1}, .edge_ids = {}});
  batch.layers = {std::move(first), std::move(last)};
  return batch;
}

Result<sampler::MiniBatch> Received(const sampler::MiniBatch& batch, const sampler::SamplingSpec& spec) {
  sampler::EpochPlan plan;
  plan.seed_type = NodeTypeId(0);
  ASSIGN_OR_RETURN(const grpc::ByteBuffer message, EncodeMiniBatch(batch, spec.draw));
  return DecodeMiniBatch(message, BookOfTwoRelations(), plan, spec);
}

TEST(DecodeMiniBatchTest, BatchRoundTrips) {
  const auto got = Received(TwoLayersFromOneSeed(), TwoLayersOfBothRelations());
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  sampler::testing::ExpectSameBatch(*got, TwoLayersFromOneSeed());
}

// Decodes the batch of a sampler that has drawn by `drawn`. An older sampler does not set drawn_by.
Status ReceivedBy(const sampler::DrawSpec& requested, const sampler::DrawSpec& drawn, bool is_older) {
  Result<grpc::ByteBuffer> message = EncodeMiniBatch(TwoLayersFromOneSeed(), drawn);
  ESPALIER_CHECK(message.ok()) << message.status().ToString();
  if (is_older) {
    auto frame = rpc::DecodeFrame<minibatch::v1::MiniBatch>(*message);
    ESPALIER_CHECK(frame.ok()) << frame.status().ToString();
    frame->header.clear_drawn_by();
    message = rpc::EncodeFrameBytes(frame->header, frame->tensors);
  }
  sampler::SamplingSpec spec = TwoLayersOfBothRelations();
  spec.draw = requested;
  return DecodeMiniBatch(*message, BookOfTwoRelations(), sampler::EpochPlan(), spec).status();
}

TEST(DecodeMiniBatchTest, RefusesBatchWithoutRequestedOptions) {
  const sampler::DrawSpec always, once{.expand = sampler::Expand::kOnce};
  const sampler::DrawSpec weighted{.weight_column = "weight", .expand = sampler::Expand::kOnce};
  EXPECT_EQ(ReceivedBy(once, once, /*is_older=*/false), Status());
  EXPECT_EQ(ReceivedBy(weighted, weighted, false), Status());
  EXPECT_EQ(ReceivedBy(always, always, /*is_older=*/true), Status());
  for (const bool is_older : {false, true}) {
    const Status refused = ReceivedBy(once, always, is_older);
    EXPECT_EQ(refused.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(refused.message(),
                ::testing::HasSubstr("drawn with expand Always, the request has Once: the sampler has "
                                     "another version; start samplers of this process's"));
  }
  EXPECT_THAT(ReceivedBy(weighted, once, false).message(),
              ::testing::HasSubstr("drawn with weight '', the request has 'weight'"));
}

TEST(DecodeMiniBatchTest, RefusesBlocksThatDoNotMatchFanOuts) {
  using Blocks = std::vector<sampler::Block>;
  const std::vector<std::function<void(Blocks&)>> damages = {
      [](Blocks& blocks) { std::swap(blocks[0], blocks[1]); },
      [](Blocks& blocks) { blocks[1] = blocks[0]; },
      [](Blocks& blocks) { blocks.pop_back(); },
      [](Blocks& blocks) { blocks.push_back(blocks[1]); },
      [](Blocks& blocks) { blocks.clear(); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    for (const size_t layer : {0u, 1u}) {
      sampler::MiniBatch batch = TwoLayersFromOneSeed();
      damages[i](batch.layers[layer].blocks);
      const Status refused = Received(batch, TwoLayersOfBothRelations()).status();
      EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << i << refused.ToString();
      EXPECT_THAT(refused.message(), ::testing::HasSubstr("not those of its 2 edge types with a fan-out")) << i;
    }
  }
  sampler::SamplingSpec of_one_relation = TwoLayersOfBothRelations();
  of_one_relation.layers[1].fanouts[0] = 0;
  EXPECT_EQ(Received(TwoLayersFromOneSeed(), of_one_relation).status().code(), StatusCode::kInvalidArgument);
}

TEST(DecodeMiniBatchTest, RefusesLayersAndSeedsThatDoNotFitEachOther) {
  using Batch = sampler::MiniBatch;
  const std::vector<std::function<void(Batch&)>> damages = {
      [](Batch& batch) { batch.nodes[0].push_back(GlobalNodeId(3)); },  // a node that the first layer does not read
      [](Batch& batch) { batch.layers[0].num_inputs[0] = 4; },
      [](Batch& batch) { batch.layers[0].num_inputs.pop_back(); },
      [](Batch& batch) { batch.layers[1].num_inputs[0] = 3; },  // more rows than the first layer writes
      [](Batch& batch) { batch.layers[1].num_outputs.pop_back(); },
      [](Batch& batch) {
        batch.layers[1].num_outputs[0] = 2;
        batch.layers[1].blocks[1].indptr = {0, 2, 2};
      },
      [](Batch& batch) {
        batch.layers[1].num_outputs[0] = 0;
        batch.layers[1].blocks[1].indptr = {0};
        batch.layers[1].blocks[1].indices.clear();
      },
      [](Batch& batch) {
        batch.layers[1].num_outputs[1] = 1;  // a type without seeds
        batch.layers[1].blocks[0].indptr = {0, 0};
      },
      [](Batch& batch) { batch.layers.erase(batch.layers.begin()); },
      [](Batch& batch) { batch.layers.clear(); },
      [](Batch& batch) { batch.seed_type = NodeTypeId(1); },
      [](Batch& batch) { batch.num_seeds = 2; },
      [](Batch& batch) { batch.num_seeds = 0; },
      [](Batch& batch) { batch.global_num_seeds = 0; },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    sampler::MiniBatch batch = TwoLayersFromOneSeed();
    damages[i](batch);
    EXPECT_EQ(Received(batch, TwoLayersOfBothRelations()).status().code(), StatusCode::kInvalidArgument) << i;
  }
}

// A graph with a few relations has no such batch; a graph with tens of thousands of relations and many layers has.
TEST(EncodeMiniBatchTest, RefusesABatchWhoseDescriptionIsTooLarge) {
  sampler::MiniBatch batch;
  batch.layers.resize(1);
  batch.layers.front().num_inputs.assign(1000, ~0u);
  EXPECT_TRUE(EncodeMiniBatch(batch, {}).ok());
  batch.layers.front().num_inputs.assign(900'000, ~0u);
  const Status refused = EncodeMiniBatch(batch, {}).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("a mini-batch of 1 layers with 0 relations in total"));
}

}  // namespace
}  // namespace espalier::messages
