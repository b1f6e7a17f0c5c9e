// Rows of edges over gRPC, narrow and wide, in several messages.
#include "services/client/remote/edge_row_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/testing/soon.h"
#include "services/client/testing/served_graph.h"
#include "services/sampler/testing/scripted_partition.h"

namespace espalier::client {
namespace {

using testing::Await;
using ::testing::HasSubstr;
using testing::ServedGraph;

// The server accepts forty queries at once; 256 bytes hold 32 ratings.
TEST(EdgeRowPiecesTest, RowsOfManyEdgesArriveInPieces) {
  const ServedGraph served(testing::SmallGraph(), 2, {.limits = {.max_rows = 40}});
  std::vector<GlobalEdgeId> edges;
  for (uint64_t id = 0; id < 200; ++id) edges.emplace_back(id);
  const auto gather = [&](size_t reply_bytes) {
    const auto remote = served.Remote(0, reply_bytes);
    return Await<Tensor>([&](auto done) { remote->GatherEdgeRows(EdgeTypeId(0), "rating", edges, Soon(), done); });
  };
  const auto rows = gather(256);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  const Tensor& ratings = served.local().shards[0]->data().edge_columns[0].at("rating");
  for (int64_t i = 0; i < 200; ++i) EXPECT_EQ(rows->ValueAsInt(i), ratings.ValueAsInt(i)) << i;
  EXPECT_EQ(gather(512).status().code(), StatusCode::kResourceExhausted);
}

TEST(EdgeRowPiecesTest, RefusesRowsOfDifferentShapes) {
  const auto liar = std::make_shared<sampler::testing::ScriptedPartition>(0);
  std::vector<int64_t> later_shape;
  liar->on_edge_rows = [&](std::span<const GlobalEdgeId> requested, const sampler::Done<Tensor>& done) {
    const bool is_first = requested.front().value == 0;
    done(Tensor::Zeros(DType::kF32, is_first ? std::vector<int64_t>{1, 2} : later_shape));
  };
  const shard::testing::TestGraph local = shard::testing::MakeTestGraph(testing::SmallGraph(), 1, 4);
  server::GraphServerOptions server_options;
  server_options.rpc.listen = "127.0.0.1:0";
  server_options.partition_key = testing::kPartitionKey;
  server::ServedGraph description;
  description.description = local.graph->description();
  const auto server = server::GraphServer::Start(server_options, std::move(description), liar);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  RemotePartitionOptions options;
  options.partition_key = testing::kPartitionKey;
  options.reply_bytes_per_call = 100;
  RemotePartition remote(std::make_shared<rpc::Peer>("graph server", (*server)->address(), rpc::ChannelSettings()),
                         local.book, options);
  const std::vector<GlobalEdgeId> edges = {GlobalEdgeId(0), GlobalEdgeId(1), GlobalEdgeId(2)};
  const auto answer_of = [&](std::vector<int64_t> shape) {
    later_shape = std::move(shape);
    return Await<Tensor>([&](auto done) { remote.GatherEdgeRows(EdgeTypeId(0), "rating", edges, Soon(), done); });
  };
  EXPECT_EQ(answer_of({2, 2})->ToString(), "F32 [3, 2]");
  EXPECT_THAT(answer_of({2, 3}).status().message(),
              HasSubstr("F32 [2, 3], expected the dtype and row shape of F32 [1, 2]"));
  EXPECT_THAT(answer_of({2}).status().message(), HasSubstr("F32 [2], expected the dtype and row shape of F32 [1, 2]"));
  EXPECT_THAT(answer_of({1, 2}).status().message(), HasSubstr("F32 [1, 2] as rows of 2 edges"));
}

// A ring of 24 edges; row i of its column is 17 KiB of the number i.
graph::SourceGraph RingWithWideRows() {
  constexpr uint32_t kEdges = 24;
  constexpr int64_t kWidth = 17 << 8;
  graph::SourceGraph source;
  source.name = "ring";
  source.schema = *graph::GraphSchema::Make({"node"}, {{"node", "next", "node"}});
  source.nodes.assign(1, {.count = kEdges});
  std::vector<uint32_t> from, to;
  std::vector<float> rows;
  for (uint32_t i = 0; i < kEdges; ++i) {
    from.push_back(i);
    to.push_back((i + 1) % kEdges);
    rows.insert(rows.end(), kWidth, static_cast<float>(i));
  }
  source.edges.push_back({.sources = Tensor::FromVector(std::move(from)),
                          .destinations = Tensor::FromVector(std::move(to)),
                          .columns = {{"wide", Tensor::FromVector(std::move(rows), {kEdges, kWidth})}},
                          .original_ids = {}});
  return source;
}

// 32 KiB are assumed to hold two rows, but a message holds one.
TEST(EdgeRowPiecesTest, LargeRowsArriveOneByOne) {
  constexpr size_t kReplyBytes = 32 << 10;
  const auto gather = [](size_t max_reply_bytes) {
    const ServedGraph served(RingWithWideRows(), 1, {.limits = {.max_reply_bytes = max_reply_bytes}});
    std::vector<GlobalEdgeId> edges;
    for (uint64_t id = 24; id > 0; --id) edges.emplace_back(id - 1);
    const auto remote = served.Remote(0, kReplyBytes);
    const auto rows =
        Await<Tensor>([&](auto done) { remote->GatherEdgeRows(EdgeTypeId(0), "wide", edges, Soon(), done); });
    if (!rows.ok()) return rows.status();
    const Tensor& expected = served.local().shards[0]->data().edge_columns[0].at("wide");
    EXPECT_EQ(rows->ToString(), expected.ToString());
    const auto width = static_cast<size_t>(expected.num_elements()) / edges.size();
    for (size_t i = 0; i < edges.size(); ++i) {
      EXPECT_EQ(rows->values<float>()[i * width], expected.values<float>()[edges[i].value * width]);
      EXPECT_EQ(rows->values<float>()[(i + 1) * width - 1], expected.values<float>()[edges[i].value * width]);
    }
    return Status();
  };
  for (const size_t max_reply_bytes : {kReplyBytes, 3 * kReplyBytes}) {
    const Status gathered = gather(max_reply_bytes);
    EXPECT_TRUE(gathered.ok()) << gathered.ToString();
  }
  const Status too_wide = gather(16 << 10);
  EXPECT_EQ(too_wide.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(too_wide.message(), HasSubstr("the limit is 16384"));
}

}  // namespace
}  // namespace espalier::client
