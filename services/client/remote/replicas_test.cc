// Replicas of a partition: all serve immutable data, one holds mutable data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using std::chrono::seconds;
using testing::AwaitStatus;
using ::testing::HasSubstr;
using testing::ServedGraph;

const NodeTypeId kReplicatedNodes(0);
const EdgeTypeId kReplicatedEdges(0);

// Two servers for each of two partitions, with separate metrics.
class ReplicasTest : public ::testing::Test {
 protected:
  SessionOptions Options() const {
    SessionOptions options;
    for (uint32_t p = 0; p < 2; ++p) {
      options.addresses.push_back(one_.addresses()[p] + "|" + other_.addresses()[p]);
    }
    options.access = Access::kRpc;
    options.machine = "here";
    return options;
  }
  // Options of a session that waits for all replicas, also on a slow machine.
  SessionOptions PatientOptions() const {
    SessionOptions options = Options();
    options.replicas_timeout = options.connect_timeout;
    return options;
  }
  static double Gathered(telemetry::MetricRegistry& metrics) { return testing::AnsweredCalls(metrics, "GatherRows"); }
  static std::vector<GlobalNodeId> Nodes() {
    std::vector<GlobalNodeId> nodes;
    for (uint64_t i = 0; i < 1500; i += 7) nodes.emplace_back(i);
    return nodes;
  }
  // Every kind of query gives the same result as one process with all partitions.
  void ExpectTheSameNumbers(sampler::PartitionedGraph& remote) {
    sampler::PartitionedGraph& local = one_.local_graph();
    const Deadline soon = Deadline::After(seconds(60));
    const auto rows = remote.GatherRows(kReplicatedNodes, "node-feat", Nodes(), soon);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    const auto expected_rows = local.GatherRows(kReplicatedNodes, "node-feat", Nodes(), soon);
    EXPECT_TRUE(std::equal(rows->bytes(), rows->bytes() + rows->size_bytes(), expected_rows->bytes()));
    sampler::HopQuery hop{.seed = 4};
    const std::vector<GlobalNodeId> nodes = Nodes();  // outlive the query
    hop.relations.push_back({kReplicatedEdges, 5, nodes});
    const auto drawn = remote.SampleInEdges(hop, soon);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    EXPECT_EQ(drawn->relations[0].sources, local.SampleInEdges(hop, soon)->relations[0].sources);
    const auto split = local.description().splits.front();
    const sampler::SeedQuery seeds{.node_type = kReplicatedNodes, .split = split.split, .seed = 1, .batch_size = 64};
    const auto batch = remote.SeedsOfStep(seeds, soon);
    ASSERT_TRUE(batch.ok()) << batch.status().ToString();
    EXPECT_EQ(batch->seeds, local.SeedsOfStep(seeds, soon)->seeds);
  }

  telemetry::MetricRegistry metrics_of_one_, metrics_of_other_;
  ServedGraph one_{testing::SmallGraph(), 2, {.machine = "there", .metrics = &metrics_of_one_}};
  ServedGraph other_{testing::SmallGraph(), 2, {.machine = "elsewhere", .metrics = &metrics_of_other_}};
};

TEST_F(ReplicasTest, ShareRequests) {
  const auto session = Connect(Options());
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(session->graph->GatherRows(kReplicatedNodes, "node-feat", Nodes(), Deadline::After(seconds(60))).ok());
  }
  EXPECT_EQ(Gathered(metrics_of_one_), 10);  // of two partitions
  EXPECT_EQ(Gathered(metrics_of_other_), 10);
  ExpectTheSameNumbers(*session->graph);
}

TEST_F(ReplicasTest, LocalReplicasAreCalledFirst) {
  SessionOptions options = PatientOptions();
  options.machine = "elsewhere";
  const auto session = Connect(options);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(session->graph->GatherRows(kReplicatedNodes, "node-feat", Nodes(), Deadline::After(seconds(60))).ok());
  }
  EXPECT_EQ(Gathered(metrics_of_one_), 0);
  EXPECT_EQ(Gathered(metrics_of_other_), 20);
  other_.Kill(0);
  other_.Kill(1);
  ExpectTheSameNumbers(*session->graph);
}

TEST_F(ReplicasTest, FailedReplicaChangesNoResult) {
  const auto session = Connect(Options());
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  one_.Kill(0);
  ExpectTheSameNumbers(*session->graph);
  other_.Kill(1);
  ExpectTheSameNumbers(*session->graph);
  one_.Restart(0);
  other_.Kill(0);
  ExpectTheSameNumbers(*session->graph);
}

TEST_F(ReplicasTest, WritesGoToFirstReplica) {
  RemotePartitionOptions options;
  options.partition_key = testing::kPartitionKey;
  options.replicas = std::make_shared<rpc::Replicas>(
      std::vector<std::shared_ptr<rpc::Peer>>{one_.MakePeer(0), other_.MakePeer(0)}, std::vector<bool>{false, true});
  RemotePartition access(one_.MakePeer(0), one_.local().book, options);
  const sampler::TensorId tensor{sampler::RowSpace::Nodes(kReplicatedNodes), "kept", {}};
  const Deadline soon = Deadline::After(seconds(60));
  sampler::TensorSpec spec{.id = tensor, .dtype = DType::kF32, .row_shape = {1}};
  spec.maker = 1;
  const auto created =
      testing::Await<sampler::TensorDescription>([&](auto done) { access.tensors().Create(spec, 1, soon, done); });
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  const Status written = AwaitStatus([&](auto done) {
    access.tensors().Write(tensor, sampler::RowWrite::kAssign, {LocalRowId(3)}, Tensor::FromVector<float>({7}, {1, 1}),
                           soon, done);
  });
  ASSERT_TRUE(written.ok()) << written.ToString();
  other_.Kill(0);
  float value = 0;
  const std::vector<LocalRowId> rows = {LocalRowId(3)};
  const std::vector<uint32_t> positions = {0};
  const sampler::RowSink sink{reinterpret_cast<std::byte*>(&value), sizeof(value), positions};
  const auto read = [&] {
    return AwaitStatus([&](auto done) { access.tensors().Read(tensor, rows, sink, soon, done); });
  };
  EXPECT_TRUE(read().ok());
  EXPECT_EQ(value, 7);
  // Mutable data is lost with the first server, although the other replica is available.
  other_.Restart(0);
  one_.Restart(0);
  EXPECT_EQ(read().code(), StatusCode::kNotFound);
}

TEST_F(ReplicasTest, SessionStartsWithReachableReplicas) {
  one_.Kill(0);
  other_.Kill(1);
  const auto session = Connect(Options());
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  ExpectTheSameNumbers(*session->graph);
  one_.Restart(0);
  other_.Kill(0);
  ExpectTheSameNumbers(*session->graph);
}

TEST_F(ReplicasTest, APartitionWithoutServersIsNamed) {
  one_.Kill(1);
  other_.Kill(1);
  SessionOptions options = Options();
  options.connect_timeout = seconds(3);
  const Status status = Connect(options).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(one_.addresses()[1]));
}

TEST_F(ReplicasTest, JoinedServersServePartition) {
  SessionOptions options = PatientOptions();
  options.addresses[0] = one_.addresses()[0] + "|" + other_.addresses()[1];
  const Status mixed = Connect(options).status();
  EXPECT_EQ(mixed.code(), StatusCode::kFailedPrecondition) << mixed.ToString();
  EXPECT_THAT(mixed.message(), HasSubstr("joined"));
  options.addresses = {one_.addresses()[0], one_.addresses()[1], other_.addresses()[0]};
  EXPECT_THAT(Connect(options).status().message(), HasSubstr("joined by '|'"));
  options.addresses = {one_.addresses()[0] + "|", one_.addresses()[1]};
  EXPECT_EQ(Connect(options).status().code(), StatusCode::kInvalidArgument);
}

// Any order of partitions and any number of servers each; the job has the highest incarnation that a server has seen.
TEST_F(ReplicasTest, NewestIncarnationWins) {
  other_.Restart(1, /*incarnation=*/6);
  SessionOptions options = PatientOptions();
  options.addresses = {Options().addresses[1], one_.addresses()[0]};
  const auto session = Connect(options);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  EXPECT_EQ(session->incarnation->current(), 6u);
  ExpectTheSameNumbers(*session->graph);
}

}  // namespace
}  // namespace espalier::client
