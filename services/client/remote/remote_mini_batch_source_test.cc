// Streams from sampler servers, compared with mini-batches that are sampled in this process.
#include "services/client/remote/remote_mini_batch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <set>

#include "services/base/philox.h"
#include "services/base/testing/soon.h"
#include "services/client/testing/served_graph.h"
#include "services/client/testing/served_samplers.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::client {
namespace {

using sampler::testing::ExpectSameBatch;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr uint64_t kBatchSize = 10;

// Two partitions in this process, samplers over them on free ports.
class Samplers {
 public:
  explicit Samplers(size_t count, bool typed = false, const server::SamplerServerOptions& like = {})
      : Samplers(shard::testing::MakeTestGraph(typed ? testing::SmallTypedGraph() : testing::SmallGraph(), 2, 4).graph,
                 count, like) {}
  // Creates samplers over any graph.
  Samplers(std::shared_ptr<sampler::PartitionedGraph> graph, size_t count, const server::SamplerServerOptions& like)
      : shared_(std::move(graph)), servers_(shared_, count, like) {
    options_.samplers = servers_.addresses();
    options_.partition_key = testing::kPartitionKey;
  }

  sampler::PartitionedGraph& graph() { return *shared_; }
  void Kill(size_t i) { servers_.Kill(i); }
  void Restart(size_t i) { servers_.Restart(i); }
  RemoteMiniBatchOptions options() const { return options_; }

  sampler::EpochPlan Plan(uint32_t num_trainers = 1, uint32_t rank = 0) {
    const auto& split = shared_->description().splits.front();
    return {.seed_type = split.node_type,
            .split = split.split,
            .batch_size = kBatchSize,
            .num_trainers = num_trainers,
            .rank = Rank(rank)};
  }
  // Sets how all mini-batches are sampled.
  void DrawBy(sampler::SamplingSpec like) { spec_like_ = std::move(like); }
  sampler::SamplingSpec Spec() {
    const size_t num_edge_types = shared_->book().schema().num_edge_types();
    sampler::SamplingSpec spec = spec_like_;
    spec.seed = 21;
    for (const int32_t fanout : {6, 3}) spec.layers.push_back({std::vector<int32_t>(num_edge_types, fanout)});
    return spec;
  }
  std::unique_ptr<RemoteMiniBatchSource> Open(const sampler::EpochPlan& plan, uint32_t batches_ahead = 2) {
    RemoteMiniBatchOptions options = options_;
    options.batches_ahead = batches_ahead;
    auto source = RemoteMiniBatchSource::Make(shared_->book(), plan, Spec(), options);
    ESPALIER_CHECK(source.ok()) << source.status().ToString();
    return *std::move(source);
  }

 private:
  sampler::SamplingSpec spec_like_;
  const std::shared_ptr<sampler::PartitionedGraph> shared_;
  testing::ServedSamplers servers_;
  RemoteMiniBatchOptions options_;
};

// Compares every batch from a step to the end of the epoch; returns the number of batches.
int ExpectSameEpoch(Samplers& samplers, sampler::MiniBatchSource& remote, const sampler::EpochPlan& plan,
                    uint32_t epoch, uint32_t first_step) {
  sampler::LocalMiniBatchSource local(samplers.graph(), samplers.graph(), samplers.Spec(), plan, {});
  EXPECT_TRUE(local.StartEpoch(epoch, first_step).ok());
  EXPECT_TRUE(remote.StartEpoch(epoch, first_step).ok());
  for (int count = 0;; ++count) {
    const auto expected = local.Next(Soon());
    const auto batch = remote.Next(Soon());
    EXPECT_EQ(batch.status().code(), expected.status().code()) << batch.status().ToString();
    if (!expected.ok() || !batch.ok()) return count;
    ExpectSameBatch(*batch, *expected);
  }
}

TEST(RemoteMiniBatchSourceTest, DrawsByEveryMethod) {
  graph::SourceGraph source = testing::SmallGraph();
  PhiloxStream random(3, 1);
  std::vector<int64_t> node_times(source.nodes[0].count), edge_times(source.edges[0].num_edges());
  for (int64_t& time : node_times) time = random.NextBelow(20);
  for (int64_t& time : edge_times) time = random.NextBelow(20);
  source.nodes[0].columns["joined"] = Tensor::FromVector(std::move(node_times));
  source.edges[0].columns["when"] = Tensor::FromVector(std::move(edge_times));
  Samplers samplers(shard::testing::MakeTestGraph(
                        source, 2, 4, {.time_column = "when", .source_columns = {sampler::kOriginalIdColumn}})
                        .graph,
                    2, {});
  std::set<std::vector<std::vector<GlobalNodeId>>> different;
  for (const sampler::SamplingSpec& spec :
       {sampler::SamplingSpec{}, sampler::SamplingSpec{.draw = {.method = sampler::DrawMethod::kLabor}},
        sampler::SamplingSpec{.draw = {.method = sampler::DrawMethod::kLabor, .layer_dependency = true}},
        sampler::SamplingSpec{.draw = {.expand = sampler::Expand::kOnce}},
        sampler::SamplingSpec{.draw = {.time_column = "when"}, .seed_time_column = "joined"},
        sampler::SamplingSpec{.draw = {.method = sampler::DrawMethod::kLast, .time_column = "when"},
        .seed_time_column = "joined"}}) {
    samplers.DrawBy(spec);
    const sampler::EpochPlan plan = samplers.Plan();
    const auto remote = samplers.Open(plan);
    EXPECT_GT(ExpectSameEpoch(samplers, *remote, plan, 2, 0), 2);
    ASSERT_TRUE(remote->StartEpoch(2, 0).ok());
    const auto first = remote->Next(Soon());
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    EXPECT_TRUE(different.insert(first->nodes).second) << "two methods sampled the same nodes";
  }
}

TEST(RemoteMiniBatchSourceTest, ReturnsBatchesOfLocalSource) {
  for (const size_t num_samplers : {1, 3}) {
    for (const bool typed : {false, true}) {
      Samplers samplers(num_samplers, typed);
      const auto plan = samplers.Plan();
      const auto remote = samplers.Open(plan);
      EXPECT_GT(ExpectSameEpoch(samplers, *remote, plan, 0, 0), 4);
      EXPECT_GT(ExpectSameEpoch(samplers, *remote, plan, 1, 2), 2);
      EXPECT_EQ(remote->num_takeovers(), 0u);
    }
  }
}

TEST(RemoteMiniBatchSourceTest, ReturnsLinkBatchesOfLocalSource) {
  using sampler::NegativeKind;
  for (const bool typed : {false, true}) {
    Samplers samplers(3, typed);
    const auto& split = samplers.graph().description().edge_splits.front();
    for (const NegativeKind kind : {NegativeKind::kUniform, NegativeKind::kJoint, NegativeKind::kInBatch,
                                    NegativeKind::kInDegree, NegativeKind::kGlobalUniform}) {
      for (const uint32_t num_trainers : {1u, 3u}) {
        sampler::EpochPlan plan = samplers.Plan(num_trainers, num_trainers - 1);
        plan.split = split.split;
        plan.seeds = sampler::LinkPlan{.types = {{split.edge_type}}, .negatives = {kind, 4}};
        const auto remote = samplers.Open(plan);
        EXPECT_EQ(ExpectSameEpoch(samplers, *remote, plan, 0, 0), 20);  // 200 edges
        EXPECT_EQ(ExpectSameEpoch(samplers, *remote, plan, 1, 17), 3);
      }
    }
    // A split that does not exist, and a split of edges as a split of nodes.
    sampler::EpochPlan unknown = samplers.Plan();
    unknown.split = "nothing";
    unknown.seeds = sampler::LinkPlan{.types = {{split.edge_type}}, .negatives = {NegativeKind::kUniform, 4}};
    const auto remote = samplers.Open(unknown);
    ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
    EXPECT_EQ(remote->Next(Soon()).status().code(), StatusCode::kNotFound);
  }
}

TEST(RemoteMiniBatchSourceTest, EndsAfterPlanAndReportsMissingSteps) {
  Samplers samplers(2);
  const auto& split = samplers.graph().description().edge_splits.front();
  sampler::EpochPlan plan = samplers.Plan();
  plan.split = split.split;
  plan.seeds = sampler::LinkPlan{.types = {{split.edge_type}}, .negatives = {sampler::NegativeKind::kUniform, 0}};
  plan.num_steps = 19;  // of 20
  EXPECT_EQ(ExpectSameEpoch(samplers, *samplers.Open(plan), plan, 0, 0), 19);
  EXPECT_EQ(ExpectSameEpoch(samplers, *samplers.Open(plan), plan, 0, 18), 1);
  plan.num_steps = 21;
  const auto remote = samplers.Open(plan);
  ASSERT_TRUE(remote->StartEpoch(0, 20).ok());
  const Status over = remote->Next(Soon()).status();
  EXPECT_EQ(over.code(), StatusCode::kInternal);
  EXPECT_THAT(over.message(), HasSubstr("ends before step 20, expected 21"));
}

TEST(RemoteMiniBatchSourceTest, ReturnsLabeledEdgeBatchesOfLocalSource) {
  for (const bool typed : {false, true}) {
    Samplers samplers(3, typed);
    const auto& split = samplers.graph().description().edge_splits.front();
    for (const bool exclude : {false, true}) {
      for (const uint32_t num_trainers : {1u, 3u}) {
        sampler::EpochPlan plan = samplers.Plan(num_trainers, num_trainers - 1);
        plan.split = split.split;
        plan.seeds = sampler::EdgePlan{.edge_type = split.edge_type, .label = "rating", .exclude_batch = exclude};
        if (exclude && !typed) plan.edges()->exclude_reverse = split.edge_type;
        const auto remote = samplers.Open(plan);
        EXPECT_EQ(ExpectSameEpoch(samplers, *remote, plan, 0, 0), 20);  // 200 edges
        EXPECT_EQ(ExpectSameEpoch(samplers, *remote, plan, 1, 17), 3);
      }
    }
    sampler::EpochPlan unlabeled = samplers.Plan();
    unlabeled.split = split.split;
    unlabeled.seeds = sampler::EdgePlan{.edge_type = split.edge_type, .label = "stars"};
    const auto remote = samplers.Open(unlabeled);
    ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
    const auto none = remote->Next(Soon());
    EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(none.status().message(), HasSubstr("has no column 'stars'"));
  }
}

TEST(RemoteMiniBatchSourceTest, ReturnsShareOfRank) {
  Samplers samplers(2);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const auto plan = samplers.Plan(3, rank);
    const auto remote = samplers.Open(plan);
    EXPECT_GT(ExpectSameEpoch(samplers, *remote, plan, 0, 0), 4);
  }
}

TEST(RemoteMiniBatchSourceTest, FailoverKeepsStepOrder) {
  Samplers samplers(3);
  const auto plan = samplers.Plan();
  const auto remote = samplers.Open(plan, /*batches_ahead=*/1);  // so that sampler 1 has steps left when it is killed
  sampler::LocalMiniBatchSource local(samplers.graph(), samplers.graph(), samplers.Spec(), plan, {});
  ASSERT_TRUE(local.StartEpoch(0, 0).ok());
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  int count = 0;
  for (;; ++count) {
    if (count == 2) samplers.Kill(1);
    const auto expected = local.Next(Soon());
    const auto batch = remote->Next(Soon());
    ASSERT_EQ(batch.status().code(), expected.status().code()) << batch.status().ToString();
    if (!expected.ok()) break;
    ExpectSameBatch(*batch, *expected);
  }
  EXPECT_GT(count, 6);
  EXPECT_GE(remote->num_takeovers(), 1u);
}

TEST(RemoteMiniBatchSourceTest, ReportsLossOfAllSamplers) {
  Samplers samplers(2);
  const auto remote = samplers.Open(samplers.Plan());
  samplers.Kill(0);
  samplers.Kill(1);
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  const Timer timer;
  const auto batch = remote->Next(Deadline::After(milliseconds(500)));
  EXPECT_LT(timer.Seconds(), 10);
  EXPECT_THAT(batch.status().code(), ::testing::AnyOf(StatusCode::kUnavailable, StatusCode::kDeadlineExceeded));

  samplers.Restart(1);
  const auto after = remote->Next(Soon());
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(after->step, 0u);
}

TEST(RemoteMiniBatchSourceTest, TrainersRetryLostSamplersAtDifferentTimes) {
  int apart = 0;
  for (int round = 1; round <= 10; ++round) apart += DelayAfterRound(1, round) != DelayAfterRound(2, round) ? 1 : 0;
  EXPECT_GE(apart, 8);
}

TEST(RemoteMiniBatchSourceTest, WaitsForReturningSampler) {
  Samplers samplers(2);
  const auto plan = samplers.Plan();
  const auto remote = samplers.Open(plan, /*batches_ahead=*/1);
  sampler::LocalMiniBatchSource local(samplers.graph(), samplers.graph(), samplers.Spec(), plan, {});
  ASSERT_TRUE(local.StartEpoch(0, 0).ok());
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  ExpectSameBatch(*remote->Next(Soon()), *local.Next(Soon()));
  samplers.Kill(0);
  samplers.Kill(1);
  // Batches that were sampled before still arrive; then no sampler is left.
  Result<sampler::MiniBatch> batch = remote->Next(Deadline::After(milliseconds(200)));
  while (batch.ok()) {
    ExpectSameBatch(*batch, *local.Next(Soon()));
    batch = remote->Next(Deadline::After(milliseconds(200)));
  }
  EXPECT_THAT(batch.status().code(), ::testing::AnyOf(StatusCode::kUnavailable, StatusCode::kDeadlineExceeded))
      << batch.status().ToString();

  auto waiting = std::async(std::launch::async, [&] { return remote->Next(Soon()); });
  samplers.Restart(0);
  const Result<sampler::MiniBatch> after = waiting.get();
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  ExpectSameBatch(*after, *local.Next(Soon()));
}

TEST(RemoteMiniBatchSourceTest, RetriesLostSamplerInNextEpoch) {
  Samplers samplers(2);
  const auto plan = samplers.Plan();
  const auto remote = samplers.Open(plan);
  samplers.Kill(0);
  EXPECT_GT(ExpectSameEpoch(samplers, *remote, plan, 0, 0), 4);
  const uint64_t takeovers = remote->num_takeovers();
  EXPECT_GE(takeovers, 1u);
  samplers.Restart(0);
  samplers.Kill(1);
  EXPECT_GT(ExpectSameEpoch(samplers, *remote, plan, 1, 0), 4);
  EXPECT_GT(remote->num_takeovers(), takeovers);
}

TEST(RemoteMiniBatchSourceTest, EndsOnStop) {
  Samplers samplers(2);
  std::stop_source stop;
  RemoteMiniBatchOptions options = samplers.options();
  options.channel.stop = stop.get_token();
  const auto remote = RemoteMiniBatchSource::Make(samplers.graph().book(), samplers.Plan(), samplers.Spec(), options);
  samplers.Kill(0);
  samplers.Kill(1);
  ASSERT_TRUE((*remote)->StartEpoch(0, 0).ok());
  auto waiting =
      std::async(std::launch::async, [&] { return (*remote)->Next(Deadline::After(std::chrono::hours(1))).status(); });
  stop.request_stop();
  ASSERT_EQ(waiting.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_EQ(waiting.get().code(), StatusCode::kCancelled);
}

TEST(RemoteMiniBatchSourceTest, StopOfEpochOrOfCallEndsDelay) {
  for (const bool of_epoch : {true, false}) {
    std::stop_source epoch, call;
    auto waiting = std::async(std::launch::async,
                              [&] { SleepUnlessStopped(std::chrono::hours(1), epoch.get_token(), call.get_token()); });
    (of_epoch ? epoch : call).request_stop();
    EXPECT_EQ(waiting.wait_for(seconds(60)), std::future_status::ready) << of_epoch;
    epoch.request_stop();
  }
}

TEST(RemoteMiniBatchSourceTest, CancelEndsWait) {
  Samplers samplers(2);
  const auto remote = samplers.Open(samplers.Plan());
  samplers.Kill(0);
  samplers.Kill(1);
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  auto waiting =
      std::async(std::launch::async, [&] { return remote->Next(Deadline::After(std::chrono::hours(1))).status(); });
  remote->Cancel();
  EXPECT_EQ(waiting.get(), Cancelled("epoch 0 was cancelled"));
  samplers.Restart(0);
  samplers.Restart(1);
  ASSERT_TRUE(remote->StartEpoch(1, 0).ok());
  EXPECT_TRUE(remote->Next(Soon()).ok());
}

TEST(RemoteMiniBatchSourceTest, ReportsTooLargeBatch) {
  Samplers samplers(2, /*typed=*/false, {.limits = {.max_reply_bytes = 100}});
  const auto remote = samplers.Open(samplers.Plan());
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  const auto batch = remote->Next(Soon());
  EXPECT_EQ(batch.status().code(), StatusCode::kResourceExhausted) << batch.status().ToString();
  EXPECT_THAT(batch.status().message(), HasSubstr("the limit is 100"));
  EXPECT_EQ(remote->num_takeovers(), 0u);
}

// Two samplers and two graph servers.
struct WholeJob {
  explicit WholeJob(const server::SamplerServerOptions& like = {})
      : served(testing::SmallGraph(), 2), samplers(OpenSession(served).graph, 2, like) {}

  static Session OpenSession(const testing::ServedGraph& served) {
    SessionOptions options;
    options.addresses = served.addresses();
    options.access = Access::kRpc;
    auto session = Connect(options);
    ESPALIER_CHECK(session.ok()) << session.status().ToString();
    return *std::move(session);
  }

  testing::ServedGraph served;
  Samplers samplers;
};

TEST(RemoteMiniBatchSourceTest, ContinuesWhileGraphServerRestarts) {
  WholeJob job;
  const auto plan = job.samplers.Plan();
  const auto remote = job.samplers.Open(plan, /*batches_ahead=*/1);
  sampler::LocalMiniBatchSource local(job.served.local_graph(), job.served.local_graph(), job.samplers.Spec(), plan,
                                      {});
  ASSERT_TRUE(local.StartEpoch(0, 0).ok());
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  for (uint32_t count = 0;; ++count) {
    if (count % 3 == 1) job.served.Kill(count % 2);
    auto next = std::async(std::launch::async, [&] { return remote->Next(Soon()); });
    if (count % 3 == 1) job.served.Restart(count % 2);
    const auto batch = next.get();
    const auto expected = local.Next(Soon());
    ASSERT_EQ(batch.status().code(), expected.status().code()) << batch.status().ToString();
    if (!expected.ok()) break;
    ExpectSameBatch(*batch, *expected);
  }
  EXPECT_EQ(remote->num_takeovers(), 0u);
}

// The sampler ends the stream with DEADLINE_EXCEEDED; the next call opens another one.
TEST(RemoteMiniBatchSourceTest, ReplacesStreamAfterSamplerTimeout) {
  WholeJob job({.step_timeout = milliseconds(300)});
  const auto remote = job.samplers.Open(job.samplers.Plan(), /*batches_ahead=*/1);
  job.served.Hang(0);
  ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
  const auto late = remote->Next(Soon());
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded) << late.status().ToString();

  job.served.Restart(0);
  Result<sampler::MiniBatch> batch = remote->Next(Soon());
  for (int i = 0; i < 100 && !batch.ok(); ++i) batch = remote->Next(Soon());  // while its channel reconnects
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->step, 0u);
}

TEST(RemoteMiniBatchSourceTest, ReportsErrorOfSampler) {
  Samplers samplers(1);
  sampler::EpochPlan plan = samplers.Plan();
  plan.split = "no-such-split";
  const auto unknown = samplers.Open(plan);
  ASSERT_TRUE(unknown->StartEpoch(0, 0).ok());
  const auto none = unknown->Next(Soon());
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("no-such-split"));

  RemoteMiniBatchOptions other = samplers.options();
  other.partition_key = std::string(64, 'e');
  const auto other_job = RemoteMiniBatchSource::Make(samplers.graph().book(), samplers.Plan(), samplers.Spec(), other);
  ASSERT_TRUE((*other_job)->StartEpoch(0, 0).ok());
  EXPECT_EQ((*other_job)->Next(Soon()).status().code(), StatusCode::kFailedPrecondition);

  other.samplers = {"nonsense"};
  EXPECT_EQ(
      RemoteMiniBatchSource::Make(samplers.graph().book(), samplers.Plan(), samplers.Spec(), other).status().code(),
      StatusCode::kInvalidArgument);

  sampler::EpochPlan of_edges = samplers.Plan();
  of_edges.seeds = sampler::LinkPlan();
  EXPECT_THAT(RemoteMiniBatchSource::Make(samplers.graph().book(), of_edges, samplers.Spec(), samplers.options())
                  .status()
                  .message(),
              HasSubstr("the plan names no edges"));
  sampler::EpochPlan of_labels = samplers.Plan();
  of_labels.seeds = sampler::EdgePlan();
  EXPECT_THAT(RemoteMiniBatchSource::Make(samplers.graph().book(), of_labels, samplers.Spec(), samplers.options())
                  .status()
                  .message(),
              HasSubstr("the plan names no label"));
  sampler::EpochPlan of_tests = samplers.Plan();
  of_tests.part = graph::SplitPartName::kTest;
  EXPECT_THAT(RemoteMiniBatchSource::Make(samplers.graph().book(), of_tests, samplers.Spec(), samplers.options())
                  .status()
                  .message(),
              HasSubstr("serve only batches of training seeds"));
}

TEST(RemoteMiniBatchSourceTest, CanBeDestroyedDuringEpoch) {
  Samplers samplers(2);
  for (int round = 0; round < 10; ++round) {
    const auto remote = samplers.Open(samplers.Plan());
    ASSERT_TRUE(remote->StartEpoch(0, 0).ok());
    if (round % 2 == 0) {
      ASSERT_TRUE(remote->Next(Soon()).ok());
    }
    if (round % 3 == 0) {
      ASSERT_TRUE(remote->StartEpoch(1, 1).ok());
    }
  }
}

}  // namespace
}  // namespace espalier::client
