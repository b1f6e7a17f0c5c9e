// Requests and responses of a hop in messages: decoding returns the encoded values and refuses messages that do not
// fit.
#include "services/messages/hop_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::messages {
namespace {

constexpr EdgeTypeId kCites(0), kRevCites(1);

graph::PartitionBook Book() {
  const auto schema = graph::GraphSchema::Make({"paper"}, {{"paper", "cites", "paper"}, {"paper", "rev", "paper"}});
  ESPALIER_CHECK(schema.ok()) << schema.status().ToString();
  const auto book = graph::PartitionBook::Make(*schema, {{0, 100}}, {{0, 1000}, {0, 1000}});
  ESPALIER_CHECK(book.ok()) << book.status().ToString();
  return *book;
}

std::vector<LocalNodeId> Locals(std::initializer_list<uint32_t> ids) { return {ids.begin(), ids.end()}; }

// Two relations with times, walks and exclusions: a query that uses every field of the message.
sampler::PartitionHopQuery FullQuery() {
  sampler::PartitionHopQuery query{.seed = uint64_t{1} << 63,
                                   .at = {.epoch = 1, .step = 2, .hop = 3},
                                   .draw = {.replace = true, .weight_column = "w", .time_column = "when"},
                                   .want_edge_ids = true};
  query.relations.push_back({.edge_type = kCites,
                             .fanout = 3,
                             .destinations = Locals({4, 5, 6}),
                             .times = {7, -8, 9},
                             .walks = {uint64_t{1} << 40, 2, 3},
                             .excluded_destinations = Locals({4, 4}),
                             .excluded_sources = {GlobalNodeId(1), GlobalNodeId(uint64_t{1} << 33)}});
  query.relations.push_back({.edge_type = kRevCites,
                             .fanout = sampler::kFullNeighborhood,
                             .destinations = Locals({1}),
                             .times = {0},
                             .walks = {5}});
  return query;
}

Result<sampler::PartitionHopQuery> SentHop(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  tensor::v1::RequestIdentity identity;
  identity.set_job("nightly");
  ASSIGN_OR_RETURN(const auto frame,
                   rpc::DecodeFrame<graph::v1::SampleNeighborsRequest>(EncodeHopRequest(query, piece, identity)));
  EXPECT_EQ(frame.header.identity().job(), "nightly");
  return DecodeHopRequest(frame, {});
}

void ExpectSameRelation(const sampler::PartitionRelationQuery& got, const sampler::PartitionRelationQuery& sent) {
  EXPECT_EQ(got.edge_type, sent.edge_type);
  EXPECT_EQ(got.fanout, sent.fanout);
  EXPECT_EQ(got.destinations, sent.destinations);
  EXPECT_EQ(got.times, sent.times);
  EXPECT_EQ(got.walks, sent.walks);
  EXPECT_EQ(got.excluded_destinations, sent.excluded_destinations);
  EXPECT_EQ(got.excluded_sources, sent.excluded_sources);
}

TEST(HopMessagesTest, RequestRoundTrips) {
  const sampler::PartitionHopQuery sent = FullQuery();
  const Result<sampler::PartitionHopQuery> got = SentHop(sent, {{0, 0, 3}, {1, 0, 1}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(got->seed, sent.seed);
  EXPECT_EQ(got->at.epoch, 1u);
  EXPECT_EQ(got->at.step, 2u);
  EXPECT_EQ(got->at.hop, 3u);
  EXPECT_EQ(got->draw, sent.draw);
  EXPECT_TRUE(got->want_edge_ids);
  ASSERT_EQ(got->relations.size(), 2u);
  for (size_t r = 0; r < 2; ++r) ExpectSameRelation(got->relations[r], sent.relations[r]);
}

TEST(HopMessagesTest, PieceIsSeparateRequest) {
  sampler::PartitionHopQuery sent = FullQuery();
  const Result<sampler::PartitionHopQuery> got = SentHop(sent, {{0, 1, 3}});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  sampler::PartitionRelationQuery piece = sent.relations[0];
  piece.destinations.erase(piece.destinations.begin());
  piece.times.erase(piece.times.begin());
  piece.walks.erase(piece.walks.begin());
  ASSERT_EQ(got->relations.size(), 1u);
  ExpectSameRelation(got->relations[0], piece);
}

TEST(HopMessagesTest, ReplyRoundTrips) {
  sampler::PartitionHopQuery query;
  query.want_edge_ids = true;
  query.relations.push_back({.edge_type = kCites, .fanout = 2, .destinations = Locals({4, 5})});
  const sampler::PartitionHopSample sent{.relations = {{.counts = Tensor::FromVector<uint32_t>({2, 1}),
                                                        .sources = Tensor::FromVector<uint32_t>({7, 99, 3}),
                                                        .edge_ids = Tensor::FromVector<uint64_t>({5, 6, 999})}}};
  const auto receive = [&](const sampler::PartitionHopSample& sample) {
    graph::v1::SampleNeighborsResponse header;
    return DecodeHopReply(rpc::EncodeFrame(header, EncodeHopReply(sample)), query, {{0, 0, 2}}, Book());
  };
  const auto got = receive(sent);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ASSERT_EQ(got->size(), 1u);
  EXPECT_THAT(got->at(0).counts.values<uint32_t>(), ::testing::ElementsAre(2, 1));
  EXPECT_THAT(got->at(0).sources.values<uint32_t>(), ::testing::ElementsAre(7, 99, 3));
  EXPECT_THAT(got->at(0).edge_ids.values<uint64_t>(), ::testing::ElementsAre(5, 6, 999));

  sampler::PartitionHopSample wrong = sent;
  wrong.relations[0].sources = Tensor::FromVector<uint32_t>({7, 100, 3});  // of 100 nodes
  EXPECT_EQ(receive(wrong).status().code(), StatusCode::kInvalidArgument);
  wrong = sent;
  wrong.relations[0].counts = Tensor::FromVector<uint32_t>({2, 2});
  EXPECT_EQ(receive(wrong).status().code(), StatusCode::kInvalidArgument);
}

TEST(DecodeHopRequestTest, BoundsTheNumberOfRelations) {
  rpc::Frame<graph::v1::InSubgraphRequest> frame;
  for (int i = 0; i < 4; ++i) {
    frame.header.add_edge_types(0);
    frame.tensors.push_back(Tensor::FromVector<uint32_t>({}));
  }
  EXPECT_TRUE(DecodeHopRequest(frame, {.max_relations = 4}).ok());
  EXPECT_EQ(DecodeHopRequest(frame, {.max_relations = 3}).status().code(), StatusCode::kResourceExhausted);
}

TEST(DecodeHopRequestTest, RefusesDrawsThatCouldNotBeSent) {
  rpc::Frame<graph::v1::SampleNeighborsRequest> frame;
  graph::v1::RelationQuery* relation = frame.header.add_relations();
  relation->set_fanout(1000);
  frame.tensors.push_back(Tensor::Zeros(DType::kU32, {1000}));
  frame.header.set_replace(true);
  const ServiceLimits limits{.max_reply_bytes = 1'000'000};
  EXPECT_EQ(DecodeHopRequest(frame, limits).status().code(), StatusCode::kResourceExhausted);
  relation->set_fanout(100);
  EXPECT_TRUE(DecodeHopRequest(frame, limits).ok());
  frame.tensors.clear();
  EXPECT_EQ(DecodeHopRequest(frame, limits).status().code(), StatusCode::kInvalidArgument);
}

// A server of a version without draw methods draws by kNeighbor and sends a well-formed response.
TEST(DecodeHopReplyTest, NamesServerWithoutMethod) {
  sampler::PartitionHopQuery query{.draw = {.method = sampler::DrawMethod::kLabor}};
  query.relations.push_back({EdgeTypeId(0), 3, {}});
  const std::vector<Tensor> nothing(3, Tensor::FromVector(std::vector<uint32_t>()));
  graph::v1::SampleNeighborsResponse response;
  const auto decode = [&] { return DecodeHopReply(rpc::EncodeFrame(response, nothing), query, {{0, 0, 0}}, Book()); };
  EXPECT_EQ(decode().status().code(), StatusCode::kUnimplemented);
  response.set_method(graph::v1::DRAW_METHOD_LABOR);
  EXPECT_TRUE(decode().ok()) << decode().status().ToString();
}

}  // namespace
}  // namespace espalier::messages
