// Queries of servers that are killed, hang, restart, or belong to another partitioning or job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using std::chrono::seconds;
using testing::Await;
using testing::AwaitStatus;
using ::testing::HasSubstr;
using testing::ServedGraph;

const NodeTypeId kNode(0);
const EdgeTypeId kEdge(0);

Result<Tensor> DegreeOfFirst(RemotePartition& access, Deadline deadline) {
  const std::vector<LocalNodeId> nodes = {LocalNodeId(0)};
  return Await<Tensor>([&](auto done) { access.InDegrees(kEdge, nodes, deadline, done); });
}

std::shared_ptr<RemotePartition> ClientWith(const ServedGraph& served, const std::string& key, uint32_t partition,
                                            uint64_t incarnation) {
  RemotePartitionOptions options;
  options.partition_key = key;
  options.partition = PartitionId(partition);
  options.incarnation = std::make_shared<Incarnation>(incarnation);
  return std::make_shared<RemotePartition>(served.MakePeer(0), served.local().book, options);
}

sampler::TensorId NodeTensor(const char* name) { return {sampler::RowSpace::Nodes(kNode), name, {}}; }

Status CreateRows(RemotePartition& access, const char* name, int64_t width, Deadline deadline) {
  sampler::TensorSpec spec{.id = NodeTensor(name), .dtype = DType::kF32, .row_shape = {width}};
  spec.maker = 1;
  return Await<sampler::TensorDescription>([&](auto done) { access.tensors().Create(spec, 1, deadline, done); })
      .status();
}

Status WriteRows(RemotePartition& access, const char* name, const std::vector<LocalRowId>& rows, const Tensor& values,
                 Deadline deadline) {
  return AwaitStatus([&](auto done) {
    access.tensors().Write(NodeTensor(name), sampler::RowWrite::kAssign, rows, values, deadline, done);
  });
}

TEST(RemotePartitionFailureTest, ReportsAKilledServerWithinTheDeadline) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto access = served.Remote(0);
  ASSERT_TRUE(DegreeOfFirst(*access, Deadline::After(seconds(30))).ok());
  served.Kill(0);

  // Long enough for one attempt to end, whose error is then returned.
  const auto degree = DegreeOfFirst(*access, Deadline::After(seconds(3)));

  EXPECT_EQ(degree.status().code(), StatusCode::kUnavailable) << degree.status().ToString();
  EXPECT_THAT(degree.status().message(), HasSubstr(served.addresses()[0]));
}

TEST(RemotePartitionFailureTest, WaitsForAServerThatRestarts) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto access = served.Remote(0);
  const auto before = DegreeOfFirst(*access, Deadline::After(seconds(30)));
  ASSERT_TRUE(before.ok());
  served.Kill(0);

  std::promise<Result<Tensor>> after;
  const std::vector<LocalNodeId> nodes = {LocalNodeId(0)};
  access->InDegrees(kEdge, nodes, Deadline::After(seconds(60)),
                    [&](Result<Tensor> degree) { after.set_value(std::move(degree)); });
  served.Restart(0);

  const Result<Tensor> degree = after.get_future().get();
  ASSERT_TRUE(degree.ok()) << degree.status().ToString();
  EXPECT_EQ(degree->ValueAsInt(0), before->ValueAsInt(0));
}

// Every kind of read, made while the server is down and served by its replacement.
TEST(RemotePartitionFailureTest, ReadsContinueAfterRestart) {
  ServedGraph served(testing::SmallGraph(), 2);
  SessionOptions options;
  options.addresses = served.addresses();
  const auto session = Connect(options);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  sampler::PartitionedGraph& remote = *session->graph;
  sampler::PartitionedGraph& local = served.local_graph();
  const Deadline soon = Deadline::After(seconds(60));
  const auto split = local.description().splits.front();
  const sampler::SeedQuery seeds{.node_type = kNode, .split = split.split, .seed = 1, .batch_size = 64};
  std::vector<GlobalNodeId> nodes;
  for (uint64_t i = 0; i < 1500; i += 3) nodes.emplace_back(i);
  std::vector<OriginalNodeId> originals = {OriginalNodeId(3), OriginalNodeId(1400)};
  sampler::HopQuery hop{.seed = 4};
  hop.relations.push_back({kEdge, 5, nodes});

  const auto asked_in_vain = [&](auto question) {
    served.Kill(1);
    auto answer = std::async(std::launch::async, question);
    served.Restart(1);
    return answer.get();
  };
  const auto rows = asked_in_vain([&] { return remote.GatherRows(kNode, "node-feat", nodes, soon); });
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  const auto expected_rows = local.GatherRows(kNode, "node-feat", nodes, soon);
  EXPECT_TRUE(std::equal(rows->bytes(), rows->bytes() + rows->size_bytes(), expected_rows->bytes()));
  const auto batch = asked_in_vain([&] { return remote.SeedsOfStep(seeds, soon); });
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->seeds, local.SeedsOfStep(seeds, soon)->seeds);
  const auto globals = asked_in_vain([&] { return remote.ToGlobalIds(kNode, originals, soon); });
  ASSERT_TRUE(globals.ok()) << globals.status().ToString();
  EXPECT_EQ(*globals, *local.ToGlobalIds(kNode, originals, soon));
  const auto drawn = asked_in_vain([&] { return remote.SampleInEdges(hop, soon); });
  ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
  EXPECT_EQ(drawn->relations[0].sources, local.SampleInEdges(hop, soon)->relations[0].sources);
}

TEST(RemotePartitionFailureTest, RestartLosesMutableTensorsAndNextCallReportsIt) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto access = served.Remote(0);
  const Deadline soon = Deadline::After(seconds(60));
  ASSERT_TRUE(CreateRows(*access, "kept", 1, soon).ok());
  served.Restart(0);
  const Tensor row = Tensor::FromVector<float>({1}, {1, 1});
  EXPECT_EQ(WriteRows(*access, "kept", {LocalRowId(0)}, row, soon).code(), StatusCode::kNotFound);
}

TEST(RemotePartitionFailureTest, NewIncarnationHasNoTensorsOfOlderOnes) {
  ServedGraph served(testing::SmallGraph(), 1);
  const Deadline soon = Deadline::After(seconds(60));
  const std::vector<LocalRowId> rows = {LocalRowId(0)};
  const std::vector<uint32_t> positions = {0};
  float value = 0;
  const sampler::RowSink sink{reinterpret_cast<std::byte*>(&value), sizeof(value), positions};
  const auto create = [&](RemotePartition& access, const char* name) { return CreateRows(access, name, 1, soon); };
  const auto read = [&](RemotePartition& access, const char* name) {
    return AwaitStatus([&](auto done) { access.tensors().Read(NodeTensor(name), rows, sink, soon, done); }).code();
  };
  const auto first = ClientWith(served, testing::kPartitionKey, 0, 1);
  const auto second = ClientWith(served, testing::kPartitionKey, 0, 2);
  for (const char* name : {"a", "b"}) ASSERT_TRUE(create(*first, name).ok());
  const Tensor row = Tensor::FromVector<float>({7}, {1, 1});
  ASSERT_TRUE(WriteRows(*first, "a", rows, row, soon).ok());
  EXPECT_EQ(read(*first, "b"), StatusCode::kOk);

  ASSERT_TRUE(create(*second, "a").ok());

  EXPECT_EQ(read(*second, "a"), StatusCode::kOk);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(read(*second, "b"), StatusCode::kNotFound);
  ASSERT_TRUE(create(*second, "c").ok());
  EXPECT_EQ(read(*second, "a"), StatusCode::kOk);
}

TEST(RemotePartitionFailureTest, RestartedServerRefusesOlderIncarnations) {
  ServedGraph served(testing::SmallGraph(), 1, {.incarnation = 3});
  const Deadline soon = Deadline::After(seconds(60));
  const auto past = ClientWith(served, testing::kPartitionKey, 0, 3);
  ASSERT_TRUE(DegreeOfFirst(*past, soon).ok());
  served.Restart(0, /*incarnation=*/4);
  EXPECT_EQ(DegreeOfFirst(*past, soon).status().code(), StatusCode::kAborted);
  EXPECT_TRUE(DegreeOfFirst(*ClientWith(served, testing::kPartitionKey, 0, 4), soon).ok());
}

TEST(SessionTest, WaitsForStartingServer) {
  ServedGraph served(testing::SmallGraph(), 2);
  served.Kill(1);
  SessionOptions options;
  options.addresses = served.addresses();
  auto connecting = std::async(std::launch::async, [&] { return Connect(options); });
  served.Restart(1);
  const Result<Session> session = connecting.get();
  EXPECT_TRUE(session.ok()) << session.status().ToString();
}

TEST(SessionTest, StopEndsWaitingCalls) {
  ServedGraph served(testing::SmallGraph(), 2);
  std::stop_source stop;
  SessionOptions options;
  options.addresses = served.addresses();
  options.channel.stop = stop.get_token();
  const Result<Session> session = Connect(options);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  served.Kill(0);
  served.Hang(1);
  options.connect_timeout = std::chrono::hours(1);
  const std::vector<GlobalNodeId> nodes = {GlobalNodeId(0), GlobalNodeId(1400)};
  auto reading = std::async(std::launch::async, [&] {
    return session->graph->GatherRows(kNode, "node-feat", nodes, Deadline::After(std::chrono::hours(1))).status();
  });
  auto connecting = std::async(std::launch::async, [&] { return Connect(options).status(); });
  stop.request_stop();
  ASSERT_EQ(reading.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_EQ(reading.get().code(), StatusCode::kCancelled);
  ASSERT_EQ(connecting.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_EQ(connecting.get().code(), StatusCode::kCancelled);
}

TEST(RemotePartitionFailureTest, CallsOutliveClient) {
  ServedGraph served(testing::SmallGraph(), 1);
  for (int round = 0; round < 20; ++round) {
    auto access = served.Remote(0);
    std::promise<Status> answered;
    const std::vector<LocalNodeId> nodes = {LocalNodeId(0)};
    access->InDegrees(kEdge, nodes, Deadline::After(seconds(30)),
                      [&](const Result<Tensor>& degree) { answered.set_value(degree.status()); });
    access.reset();
    EXPECT_TRUE(answered.get_future().get().ok());
  }
}

TEST(RemotePartitionFailureTest, RefusesOtherPartitioningsAndPartitions) {
  ServedGraph served(testing::SmallGraph(), 2);
  const Deadline soon = Deadline::After(seconds(30));
  const auto other_key = DegreeOfFirst(*ClientWith(served, std::string(64, 'f'), 0, 0), soon);
  EXPECT_EQ(other_key.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(other_key.status().message(), HasSubstr(testing::kPartitionKey));
  const auto other_partition = DegreeOfFirst(*ClientWith(served, testing::kPartitionKey, 1, 0), soon);
  EXPECT_EQ(other_partition.status().code(), StatusCode::kFailedPrecondition);
}

TEST(RemotePartitionFailureTest, RefusesOlderIncarnations) {
  ServedGraph served(testing::SmallGraph(), 1, {.incarnation = 3});
  const Deadline soon = Deadline::After(seconds(30));
  const auto old = ClientWith(served, testing::kPartitionKey, 0, 3);
  EXPECT_EQ(DegreeOfFirst(*ClientWith(served, testing::kPartitionKey, 0, 2), soon).status().code(),
            StatusCode::kAborted);
  EXPECT_TRUE(DegreeOfFirst(*old, soon).ok());
  EXPECT_TRUE(DegreeOfFirst(*ClientWith(served, testing::kPartitionKey, 0, 4), soon).ok());
  EXPECT_EQ(DegreeOfFirst(*old, soon).status().code(), StatusCode::kAborted);
}

TEST(RemotePartitionFailureTest, ReportsLimitsAsResourceExhausted) {
  server::ServiceLimits limits{.max_fanout = 10, .max_rows = 100, .max_reply_bytes = 1000};
  ServedGraph served(testing::SmallGraph(), 1, {.limits = limits});
  const auto access = served.Remote(0);
  const auto code_of_sample = [&](int32_t fanout, size_t count) {
    sampler::PartitionHopQuery query;
    query.relations.push_back({kEdge, fanout, std::vector<LocalNodeId>(count)});
    for (size_t i = 0; i < count; ++i) query.relations[0].destinations[i] = LocalNodeId(static_cast<uint32_t>(i));
    return Await<sampler::PartitionHopSample>(
               [&](auto done) { access->SampleInEdges(query, Deadline::After(seconds(30)), done); })
        .status()
        .code();
  };
  EXPECT_EQ(code_of_sample(10, 5), StatusCode::kOk);
  EXPECT_EQ(code_of_sample(11, 5), StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of_sample(1, 101), StatusCode::kResourceExhausted);
}

// 99 nodes with 30 in-edges each, and one with 400.
graph::SourceGraph DenseWithAHub() {
  constexpr uint32_t kNodes = 500, kDense = 99;
  graph::SourceGraph source;
  source.name = "dense";
  source.schema = *graph::GraphSchema::Make({"node"}, {{"node", "knows", "node"}});
  source.nodes.assign(1, {.count = kNodes});
  std::vector<uint32_t> from, to;
  for (uint32_t node = 0; node <= kDense; ++node) {
    const uint32_t degree = node < kDense ? 30 : 400;
    for (uint32_t i = 1; i <= degree; ++i) {
      from.push_back((node + i) % kNodes);
      to.push_back(node);
    }
  }
  source.edges.push_back({.sources = Tensor::FromVector(std::move(from)),
                          .destinations = Tensor::FromVector(std::move(to)),
                          .columns = {},
                          .original_ids = {}});
  return source;
}

// The client does not know the in-degrees before the server refuses: 1000 bytes hold the in-edges of a few nodes.
TEST(RemotePartitionFailureTest, SplitsRequestsWithTooLargeResponses) {
  const ServedGraph served(DenseWithAHub(), 1, {.limits = {.max_reply_bytes = 1000}});
  const auto access = served.Remote(0);
  shard::GraphShard& in_process = *served.local().shards[0];
  std::vector<LocalNodeId> dense, hub;
  const Tensor& indptr = in_process.data().in_edges[0].indptr;
  for (uint32_t node = 0; node + 1 < static_cast<uint32_t>(indptr.num_elements()); ++node) {
    const int64_t degree = indptr.ValueAsInt(node + 1) - indptr.ValueAsInt(node);
    if (degree > 0) (degree > 30 ? hub : dense).push_back(LocalNodeId(node));
  }
  ASSERT_EQ(dense.size(), 99u);
  ASSERT_EQ(hub.size(), 1u);
  const auto sample = [](sampler::PartitionAccess& partition, const std::vector<std::vector<LocalNodeId>>& nodes) {
    sampler::PartitionHopQuery query{.want_edge_ids = true};
    for (const std::vector<LocalNodeId>& of : nodes) {
      query.relations.push_back({kEdge, sampler::kFullNeighborhood, of});
    }
    return Await<sampler::PartitionHopSample>(
        [&](auto done) { partition.SampleInEdges(query, Deadline::After(seconds(30)), done); });
  };
  const auto numbers = [](const Tensor& tensor) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(tensor.ValueAsInt(i));
    return values;
  };
  const std::vector<LocalNodeId> backwards(dense.rbegin(), dense.rend());

  const auto sampled = sample(*access, {dense, {}, backwards});

  ASSERT_TRUE(sampled.ok()) << sampled.status().ToString();
  const auto expected = sample(in_process, {dense, {}, backwards});
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  ASSERT_EQ(sampled->relations.size(), 3u);
  for (size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(numbers(sampled->relations[r].counts), numbers(expected->relations[r].counts));
    EXPECT_EQ(numbers(sampled->relations[r].sources), numbers(expected->relations[r].sources));
    EXPECT_EQ(numbers(sampled->relations[r].edge_ids), numbers(expected->relations[r].edge_ids));
  }
  const auto expect_too_large = [&](const std::vector<std::vector<LocalNodeId>>& nodes) {
    const Status too_large = sample(*access, nodes).status();
    EXPECT_EQ(too_large.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(too_large.message(), HasSubstr("the limit is 1000"));
  };
  expect_too_large({hub});
  expect_too_large({dense, hub});
}

// 80 MB of rows exceed the size of a message here, so they must be read in pieces.
TEST(RemotePartitionFailureTest, MovesMoreRowsThanAMessageHolds) {
  ServedGraph served(testing::SmallGraph(), 1, {.limits = {.max_reply_bytes = 8 << 20}, .max_request_bytes = 8 << 20});
  const auto access = served.Remote(0);
  const Deadline soon = Deadline::After(seconds(60));
  const size_t num_nodes = served.local().book.num_nodes(kNode);
  const int64_t width = 14'000;
  std::vector<LocalRowId> nodes(num_nodes);
  std::vector<uint32_t> positions(num_nodes);
  std::iota(positions.begin(), positions.end(), 0u);
  for (size_t i = 0; i < num_nodes; ++i) nodes[i] = LocalRowId(static_cast<uint32_t>(i));
  Tensor rows = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(num_nodes), width});
  const std::span<float> values = rows.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8'388'593);
  ASSERT_GT(rows.size_bytes(), size_t{80} << 20);

  ASSERT_TRUE(CreateRows(*access, "wide", width, soon).ok());
  const Status written = WriteRows(*access, "wide", nodes, rows, soon);
  ASSERT_TRUE(written.ok()) << written.ToString();
  std::vector<std::byte> read(rows.size_bytes());
  const sampler::RowSink sink{read.data(), rows.row_bytes(), positions};
  const Status gathered =
      AwaitStatus([&](auto done) { access->tensors().Read(NodeTensor("wide"), nodes, sink, soon, done); });

  ASSERT_TRUE(gathered.ok()) << gathered.ToString();
  EXPECT_TRUE(std::equal(read.begin(), read.end(), rows.bytes()));
}

}  // namespace
}  // namespace espalier::client
