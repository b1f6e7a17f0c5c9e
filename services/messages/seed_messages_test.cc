// Requests and responses for a step's seeds in messages: decoding returns the encoded values.
#include "services/messages/seed_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/messages/request_tensors.h"

namespace espalier::messages {
namespace {

using ::testing::HasSubstr;

graph::PartitionBook BookOfBuyers() {
  const auto schema = graph::GraphSchema::Make({"item", "user"}, {{"user", "buys", "item"}});
  ESPALIER_CHECK(schema.ok()) << schema.status().ToString();
  const auto book = graph::PartitionBook::Make(*schema, {{0, 10}, {0, 20}}, {{0, 50}});
  ESPALIER_CHECK(book.ok()) << book.status().ToString();
  return *book;
}

Result<sampler::SeedQuery> SentSeeds(const sampler::SeedQuery& query) {
  ASSIGN_OR_RETURN(const auto frame, rpc::DecodeFrame<graph::v1::SeedsOfStepRequest>(EncodeSeedsRequest(query, {})));
  return DecodeSeedsRequest(frame, {});
}

sampler::SeedQuery QueryOfSales() {
  return {.split = "sold",
          .part = graph::SplitPartName::kValidation,
          .shuffle = false,
          .seed = uint64_t{1} << 63,
          .epoch = 3,
          .step = 4,
          .batch_size = 8,
          .edge_types = {EdgeTypeId(0)},
          .edge_column = "price",
          .want_edge_ids = true,
          .positions = std::vector<uint32_t>{1, 5}};
}

TEST(SeedMessagesTest, RequestRoundTrips) {
  const sampler::SeedQuery sent = QueryOfSales();
  const Result<sampler::SeedQuery> got = SentSeeds(sent);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->split, sent.split);
  EXPECT_EQ(got->part, sent.part);
  EXPECT_EQ(got->shuffle, sent.shuffle);
  EXPECT_EQ(got->seed, sent.seed);
  EXPECT_EQ(got->epoch, sent.epoch);
  EXPECT_EQ(got->step, sent.step);
  EXPECT_EQ(got->batch_size, sent.batch_size);
  EXPECT_EQ(got->edge_types, sent.edge_types);
  EXPECT_EQ(got->edge_column, sent.edge_column);
  EXPECT_EQ(got->want_edge_ids, sent.want_edge_ids);
  EXPECT_EQ(got->positions, sent.positions);

  for (const auto part :
       {graph::SplitPartName::kTrain, graph::SplitPartName::kValidation, graph::SplitPartName::kTest}) {
    const Result<sampler::SeedQuery> of_nodes =
        SentSeeds({.node_type = NodeTypeId(1), .split = "public", .part = part, .batch_size = 1});
    ASSERT_TRUE(of_nodes.ok()) << of_nodes.status().ToString();
    EXPECT_EQ(of_nodes->node_type, NodeTypeId(1));
    EXPECT_EQ(of_nodes->part, part);
    EXPECT_TRUE(of_nodes->shuffle && of_nodes->edge_types.empty() && !of_nodes->positions.has_value());
  }
}

TEST(SeedMessagesTest, ReplyRoundTrips) {
  const sampler::SeedQuery query = QueryOfSales();
  const sampler::PartitionSeeds sent{.positions = Tensor::FromVector<uint32_t>({1, 5}),
                                     .nodes = Tensor::FromVector<uint32_t>({9, 0}),
                                     .sources = Tensor::FromVector<uint64_t>({19, 3}),
                                     .rows = Tensor::FromVector<float>({1.5f, 2.5f}),
                                     .edge_ids = Tensor::FromVector<uint32_t>({49, 0})};
  const auto receive = [&](const sampler::PartitionSeeds& seeds) {
    graph::v1::SeedsOfStepResponse header;
    return DecodeSeedsReply(rpc::EncodeFrame(header, EncodeSeedsReply(query, seeds)), query, BookOfBuyers());
  };
  const Result<sampler::PartitionSeeds> got = receive(sent);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_THAT(got->positions.values<uint32_t>(), ::testing::ElementsAre(1, 5));
  EXPECT_THAT(got->nodes.values<uint32_t>(), ::testing::ElementsAre(9, 0));
  EXPECT_THAT(got->sources.values<uint64_t>(), ::testing::ElementsAre(19, 3));
  EXPECT_THAT(got->rows.values<float>(), ::testing::ElementsAre(1.5f, 2.5f));
  EXPECT_THAT(got->edge_ids.values<uint32_t>(), ::testing::ElementsAre(49, 0));

  const auto code_of = [&](const std::function<void(sampler::PartitionSeeds&)>& change) {
    sampler::PartitionSeeds changed = sent;
    change(changed);
    return receive(changed).status().code();
  };
  EXPECT_EQ(code_of([](auto& seeds) {
              seeds.positions = Tensor::FromVector<uint32_t>({1, 8});
            }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& seeds) {
              seeds.nodes = Tensor::FromVector<uint32_t>({10, 0});
            }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& seeds) {
              seeds.sources = Tensor::FromVector<uint32_t>({20, 3});
            }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& seeds) { seeds.rows = Tensor::FromVector<float>({1}); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of([](auto& seeds) {
              seeds.edge_ids = Tensor::FromVector<uint32_t>({50, 0});
            }),
            StatusCode::kInvalidArgument);
}

TEST(RequestTensorsTest, AcceptsOnlyVectorsOfIds) {
  const ServiceLimits limits{.max_rows = 3};
  EXPECT_TRUE(LocalIds(Tensor::FromVector<uint32_t>({1, 2, 3}), limits).ok());
  EXPECT_EQ(LocalIds(Tensor::FromVector<uint32_t>({1, 2, 3, 4}), limits).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(LocalIds(Tensor::FromVector<uint64_t>({1}), limits).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalIds(Tensor::FromVector<uint32_t>({1, 2}, {2, 1}), limits).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalIds(Tensor::FromVector<float>({1}), limits).status().code(), StatusCode::kInvalidArgument);
  const auto wide = WideIds<OriginalNodeId>(Tensor::FromVector<uint64_t>({1, uint64_t{1} << 40}), limits);
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ((*wide)[1], OriginalNodeId(uint64_t{1} << 40));
}

TEST(DecodeSeedsRequestTest, RefusesUnknownPartsAndEmptyBatches) {
  rpc::Frame<graph::v1::SeedsOfStepRequest> frame;
  graph::v1::SeedsOfStepRequest& request = frame.header;
  const ServiceLimits limits{.max_rows = 2};
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(), HasSubstr("split part"));
  request.set_part(graph::v1::SPLIT_PART_TEST);
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(), HasSubstr("batch size"));
  request.set_batch_size(4);
  EXPECT_TRUE(DecodeSeedsRequest(frame, limits).ok());
  request.set_node_type(65'536);
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(), HasSubstr("65536"));
  request.set_of_edges(true);
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(),
              HasSubstr("a request for seed edges has no edge types"));
  request.add_edge_types(7);
  request.add_edge_types(65'536);
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(), HasSubstr("65536"));

  request.clear_edge_types();
  request.add_edge_types(7);
  request.set_of_positions(true);
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(), HasSubstr("0 tensors, expected 1"));
  frame.tensors.push_back(Tensor::FromVector<uint32_t>({3, 5}));
  ASSERT_TRUE(DecodeSeedsRequest(frame, limits).ok());
  EXPECT_EQ(DecodeSeedsRequest(frame, limits)->positions, (std::vector<uint32_t>{3, 5}));
  frame.tensors[0] = Tensor::FromVector<uint32_t>({3, 5, 8});
  EXPECT_EQ(DecodeSeedsRequest(frame, limits).status().code(), StatusCode::kResourceExhausted);
  frame.tensors[0] = Tensor::FromVector<uint64_t>({3});
  EXPECT_THAT(DecodeSeedsRequest(frame, limits).status().message(), HasSubstr("expected U32 [k]"));
}

}  // namespace
}  // namespace espalier::messages
