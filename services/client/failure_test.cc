// Servers that die, hang, restart, or belong to somebody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using std::chrono::milliseconds;
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
  return std::make_shared<RemotePartition>(served.PeerOf(0), served.local().book, options);
}

TEST(RemotePartitionFailureTest, ReportsAKilledServerWithinTheDeadline) {
  ServedGraph served(testing::SmallGraph(), 1);
  const auto access = served.Remote(0);
  ASSERT_TRUE(DegreeOfFirst(*access, Deadline::After(seconds(30))).ok());
  served.Kill(0);
  const Timer timer;

  const auto degree = DegreeOfFirst(*access, Deadline::After(milliseconds(400)));

  EXPECT_LT(timer.Seconds(), 10);
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

TEST(RemotePartitionFailureTest, OutlivesItsClientWhileCallsAreUnderWay) {
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

TEST(RemotePartitionFailureTest, FencesOffOlderIncarnations) {
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
  EXPECT_EQ(code_of_sample(sampler::kFullNeighborhood, 100), StatusCode::kResourceExhausted);  // the answer's bytes
}

// 80 MB of rows: more than any message may hold here, so it only works in pieces.
TEST(RemotePartitionFailureTest, MovesMoreRowsThanAMessageHolds) {
  ServedGraph served(testing::SmallGraph(), 1, {.limits = {.max_reply_bytes = 8 << 20}, .max_request_bytes = 8 << 20});
  const auto access = served.Remote(0);
  const Deadline soon = Deadline::After(seconds(60));
  const size_t num_nodes = served.local().book.num_nodes(kNode);
  const int64_t width = 14'000;
  std::vector<LocalNodeId> nodes(num_nodes);
  std::vector<uint32_t> positions(num_nodes);
  std::iota(positions.begin(), positions.end(), 0u);
  for (size_t i = 0; i < num_nodes; ++i) nodes[i] = LocalNodeId(static_cast<uint32_t>(i));
  Tensor rows = Tensor::Zeros(DType::kF32, {static_cast<int64_t>(num_nodes), width});
  const std::span<float> values = rows.mutable_values<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8'388'593);
  ASSERT_GT(rows.size_bytes(), size_t{80} << 20);

  ASSERT_TRUE(
      AwaitStatus([&](auto done) { access->CreateTensor(kNode, "wide", DType::kF32, {width}, soon, done); }).ok());
  const Status written = AwaitStatus([&](auto done) { access->WriteRows(kNode, "wide", nodes, rows, soon, done); });
  ASSERT_TRUE(written.ok()) << written.ToString();
  std::vector<std::byte> read(rows.size_bytes());
  const sampler::RowSink sink{read.data(), rows.row_bytes(), positions};
  const Status gathered = AwaitStatus([&](auto done) { access->GatherRows(kNode, "wide", nodes, sink, soon, done); });

  ASSERT_TRUE(gathered.ok()) << gathered.ToString();
  EXPECT_TRUE(std::equal(read.begin(), read.end(), rows.bytes()));
}

}  // namespace
}  // namespace espalier::client
