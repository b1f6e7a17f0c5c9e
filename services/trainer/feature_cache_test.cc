// A job over graph servers with a cache of feature rows trains the same parameters as without one, and receives fewer
// bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "services/client/testing/served_graph.h"
#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/memory_store.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/testing/observing.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPlenty = 8 << 20;

job::DistTraining JobOnServers(const graph::SourceGraph& source) {
  job::DistTraining job;
  job.name = "cached";
  job.training.task.node_type = source.schema.node_types().back();  // papers in the typed graph
  job.training.task.label = graph::kLabelColumn;
  job.training.task.split = graph::kRandomSplit;
  for (const std::string& type : source.schema.node_types()) {
    job.training.inputs.push_back({type, {graph::kFeatureColumn}});
  }
  if (source.schema.num_node_types() > 1) job.training.model.type = job::ModelType::kRgcn;
  job.training.model.hidden_size = 8;
  job.training.sampling.layers = {{3, {}}, {3, {}}};
  job.training.batch_size = 20;
  job.training.epochs = 3;
  job.training.evaluation.every_epochs = 3;
  job.training.seed = 1;
  return job;
}

job::DistTraining WithFeatureCache(job::DistTraining job, uint64_t memory_bytes) {
  job.feature_cache = job::FeatureCache{memory_bytes, 8};
  return job;
}

job::DistTraining WithDeviceMemory(job::DistTraining job, uint64_t memory_bytes) {
  job.feature_cache->device_memory_bytes = memory_bytes;
  return job;
}

struct CachedRun {
  std::shared_ptr<storage::ObjectStore> checkpoints = nullptr;
  uint64_t stop_after = UINT64_MAX;  // steps
  uint64_t incarnation = 1;
  std::shared_ptr<SharedMemory> shared_rows = nullptr;
};

// Returns the sum of the bytes of all replies.
double ReplyBytes(const telemetry::MetricRegistry& metrics) {
  std::istringstream lines(metrics.Serialize());
  double bytes = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("espalier_rpc_reply_bytes_total")) bytes += std::stod(line.substr(line.rfind(' ')));
  }
  return bytes;
}

class FeatureCacheTest : public ::testing::Test {
 protected:
  struct Ended {
    TrainOutcome outcome;
    double reply_bytes = 0;
    std::string trainer_metrics;
  };

  // Runs the job with one trainer and two servers.
  static Ended Run(const graph::SourceGraph& source, const job::DistTraining& job, const CachedRun& run = {}) {
    telemetry::MetricRegistry of_servers, of_trainer;
    const client::testing::ServedGraph served(source, 2, {.metrics = &of_servers});
    Ended ended;
    collective::SelfCollective alone;
    Result<TrainOutcome> outcome = RunOn(served, job, run, of_trainer, alone);
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    if (outcome.ok()) ended.outcome = *std::move(outcome);
    ended.reply_bytes = ReplyBytes(of_servers);
    ended.trainer_metrics = of_trainer.Serialize();
    return ended;
  }

  static void ExpectSame(const TrainOutcome& outcome, const TrainOutcome& expected) {
    EXPECT_EQ(outcome.parameters_digest, expected.parameters_digest);
    EXPECT_EQ(outcome.parameters_digest.size(), 64u);
    EXPECT_EQ(outcome.test, expected.test);
    EXPECT_EQ(outcome.loop.first_epoch_losses, expected.loop.first_epoch_losses);
  }

  // Stops a run of the small graph after 11 steps and resumes it. Compares the end with that of a run without a
  // cache that was not stopped.
  static void ExpectResumedRunTrainsTheSame(const job::DistTraining& job) {
    const graph::SourceGraph source = client::testing::SmallGraph();
    const auto checkpoints = std::make_shared<storage::MemoryStore>();
    const Ended stopped = Run(source, job, {.checkpoints = checkpoints, .stop_after = 11});
    ASSERT_TRUE(stopped.outcome.stopped());
    const Ended resumed = Run(source, job, {.checkpoints = checkpoints, .incarnation = 2});
    EXPECT_NE(resumed.outcome.resumed_from, "");
    ExpectSame(resumed.outcome, Run(source, JobOnServers(source)).outcome);
  }

  struct EndedRanks {
    std::vector<TrainOutcome> outcomes;
    std::vector<std::string> metrics;
    double reply_bytes = 0;
  };

  // Runs the job with two ranks of one machine and two servers. The ranks inherit `descriptor` if it is open.
  static EndedRanks RunTwoRanks(const graph::SourceGraph& source, const job::DistTraining& job,
                                const Descriptor& descriptor) {
    telemetry::MetricRegistry of_servers;
    const client::testing::ServedGraph served(source, 2, {.metrics = &of_servers});
    std::vector<std::unique_ptr<collective::Collective>> group = collective::MakeInProcessGroup(2);
    std::vector<telemetry::MetricRegistry> of_ranks(2);
    EndedRanks ended;
    ended.outcomes.resize(2);
    {
      std::vector<std::jthread> ranks;
      for (uint32_t rank = 0; rank < 2; ++rank) {
        CachedRun run;
        if (descriptor.is_open()) {
          auto mapped = SharedMemory::Map(Descriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0)));
          EXPECT_TRUE(mapped.ok()) << mapped.status().ToString();
          if (mapped.ok()) run.shared_rows = *std::move(mapped);
        }
        ranks.emplace_back([&, rank, run] {
          Result<TrainOutcome> outcome = RunOn(served, job, run, of_ranks[rank], *group[rank]);
          EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
          if (outcome.ok()) ended.outcomes[rank] = *std::move(outcome);
        });
      }
    }
    ended.reply_bytes = ReplyBytes(of_servers);
    for (const telemetry::MetricRegistry& metrics : of_ranks) ended.metrics.push_back(metrics.Serialize());
    return ended;
  }

 private:
  static Result<TrainOutcome> RunOn(const client::testing::ServedGraph& served, const job::DistTraining& job,
                                    const CachedRun& run, telemetry::MetricRegistry& metrics,
                                    collective::Collective& group) {
    client::SessionOptions options;
    options.addresses = served.addresses();
    options.access = client::Access::kRpc;
    options.job = job.name;
    options.incarnation = run.incarnation;
    ASSIGN_OR_RETURN(const client::Session session, client::Connect(options));
    return RunOnGraph(*session.graph, job, run, metrics, group);
  }

 protected:
  static Result<TrainOutcome> RunOnGraph(sampler::PartitionedGraph& graph, const job::DistTraining& job,
                                         const CachedRun& run, telemetry::MetricRegistry& metrics,
                                         collective::Collective& group) {
    const graph::GraphSchema& schema = graph.book().schema();
    ASSIGN_OR_RETURN(sampler::SamplingSpec spec, MakeSamplingSpec(job.training.sampling, schema, job.training.seed));
    ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakeEpochPlan(job.training, schema, group.size(), group.rank()));
    sampler::LocalMiniBatchSource batches(graph, graph, spec, plan, {});
    std::atomic<bool> stop = false;
    uint64_t steps = 0;
    Observing observer;
    observer.on_step = [&](const RunPosition&) {
      if (++steps + 1 >= run.stop_after) stop = true;
    };
    TrainOptions training;
    training.incarnation = run.incarnation;
    training.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
    training.observer = &observer;
    training.stop_requested = &stop;
    training.metrics = &metrics;
    training.keeps_rows_on_cpu = true;
    if (run.checkpoints != nullptr) training.checkpoints = {run.checkpoints, "run/checkpoints"};
    training.shared_rows = run.shared_rows;
    return TrainJob(job, graph, batches, group, training);
  }
};

TEST_F(FeatureCacheTest, TrainsTheSameParametersWithFewerBytes) {
  const graph::SourceGraph source = client::testing::SmallGraph();
  const job::DistTraining job = JobOnServers(source);
  const Ended without = Run(source, job);
  const Ended with = Run(source, WithFeatureCache(job, kPlenty));
  ExpectSame(with.outcome, without.outcome);
  EXPECT_FALSE(without.outcome.feature_cache.has_value());
  ASSERT_TRUE(with.outcome.feature_cache.has_value());
  const sampler::RowCacheCounts& counts = *with.outcome.feature_cache;
  EXPECT_GT(counts.hit_rows, counts.fetched_rows);
  EXPECT_EQ(counts.hit_bytes, counts.hit_rows * (4 * sizeof(float) + sizeof(uint64_t)));
  // Requests and replies have headers of their own, and their number may differ.
  EXPECT_GT(without.reply_bytes - with.reply_bytes, 0.8 * static_cast<double>(counts.hit_bytes));
  EXPECT_THAT(with.trainer_metrics,
              HasSubstr("espalier_trainer_feature_cache_hit_rows_total " + std::to_string(counts.hit_rows)));
}

// The memory holds only some of the rows.
TEST_F(FeatureCacheTest, TrainsTheSameParametersWithLittleMemory) {
  const graph::SourceGraph source = client::testing::SmallGraph();
  const job::DistTraining job = JobOnServers(source);
  const Ended with = Run(source, WithFeatureCache(job, 96 << 10));
  ExpectSame(with.outcome, Run(source, job).outcome);
  EXPECT_GT(with.outcome.feature_cache->hit_rows, 0u);
}

TEST_F(FeatureCacheTest, TrainsTheSameParametersOnATypedGraph) {
  const graph::SourceGraph source = client::testing::SmallTypedGraph();
  const job::DistTraining job = JobOnServers(source);
  const Ended with = Run(source, WithFeatureCache(job, kPlenty));
  ExpectSame(with.outcome, Run(source, job).outcome);
  EXPECT_GT(with.outcome.feature_cache->hit_rows, 0u);
}

TEST_F(FeatureCacheTest, AResumedRunTrainsTheSameParameters) {
  ExpectResumedRunTrainsTheSame(WithFeatureCache(JobOnServers(client::testing::SmallGraph()), kPlenty));
}

// Each rank reads rows that the other has requested.
TEST_F(FeatureCacheTest, RanksOfAMachineTrainTheSameParametersWithSharedRowsAndFewerBytes) {
  const graph::SourceGraph source = client::testing::SmallGraph();
  // The memory of each rank holds only some of the rows.
  const job::DistTraining job = WithFeatureCache(JobOnServers(source), 96 << 10);
  const EndedRanks apart = RunTwoRanks(source, job, Descriptor());
  const Result<Descriptor> memory = SharedMemory::Create(kPlenty);
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  const EndedRanks together = RunTwoRanks(source, job, *memory);
  uint64_t shared_bytes = 0;
  for (size_t rank = 0; rank < 2; ++rank) {
    ExpectSame(together.outcomes[rank], apart.outcomes[rank]);
    ASSERT_TRUE(apart.outcomes[rank].feature_cache.has_value());
    ASSERT_TRUE(together.outcomes[rank].feature_cache.has_value());
    const sampler::RowCacheCounts& with = *together.outcomes[rank].feature_cache;
    const sampler::RowCacheCounts& without = *apart.outcomes[rank].feature_cache;
    EXPECT_EQ(without.shared_rows, 0u);
    EXPECT_GT(with.shared_rows, 0u);
    EXPECT_EQ(with.shared_bytes, with.shared_rows * (4 * sizeof(float) + sizeof(uint64_t)));
    EXPECT_EQ(with.hit_rows, without.hit_rows) << "the rank's own cache does not depend on shared rows";
    EXPECT_EQ(with.shared_rows + with.fetched_rows, without.fetched_rows);
    EXPECT_THAT(together.metrics[rank],
                HasSubstr("espalier_trainer_feature_cache_shared_rows_total " + std::to_string(with.shared_rows)));
    shared_bytes += with.shared_bytes;
  }
  // Requests and replies have headers of their own, and their number may differ.
  EXPECT_GT(apart.reply_bytes - together.reply_bytes, 0.8 * static_cast<double>(shared_bytes));
}

// The device is the CPU here: the trainer takes the same path as with a GPU.
TEST_F(FeatureCacheTest, TrainsTheSameParametersWithRowsOnTheDevice) {
  const graph::SourceGraph source = client::testing::SmallGraph();
  const job::DistTraining job = JobOnServers(source);
  const Ended without = Run(source, job);
  for (const uint64_t host_bytes : {uint64_t{96} << 10, kPlenty}) {
    for (const uint64_t device_bytes : {uint64_t{2} << 10, kPlenty}) {
      const Ended with = Run(source, WithDeviceMemory(WithFeatureCache(job, host_bytes), device_bytes));
      ExpectSame(with.outcome, without.outcome);
      ASSERT_TRUE(with.outcome.feature_cache.has_value());
      const sampler::SlotCounts& counts = with.outcome.device_rows;
      EXPECT_GT(counts.hit_rows, 0u);
      EXPECT_EQ(counts.hit_bytes, counts.hit_rows * 4 * sizeof(float));
      // Rows of both partitions are on the device; the cache in host memory holds only remote ones.
      EXPECT_LT(with.outcome.feature_cache->hit_rows + with.outcome.feature_cache->fetched_rows,
                counts.hit_rows + counts.missed_rows);
      EXPECT_THAT(with.trainer_metrics,
                  HasSubstr("espalier_trainer_feature_cache_device_rows_total " + std::to_string(counts.hit_rows)));
    }
  }
}

TEST_F(FeatureCacheTest, TrainsTheSameParametersWithRowsOnTheDeviceOnATypedGraph) {
  const graph::SourceGraph source = client::testing::SmallTypedGraph();
  const job::DistTraining job = JobOnServers(source);
  const Ended without = Run(source, job);
  for (const uint64_t device_bytes : {uint64_t{8} << 10, kPlenty}) {
    const Ended with = Run(source, WithDeviceMemory(WithFeatureCache(job, kPlenty), device_bytes));
    ExpectSame(with.outcome, without.outcome);
    EXPECT_GT(with.outcome.device_rows.hit_rows, 0u);
  }
}

TEST_F(FeatureCacheTest, AResumedRunWithRowsOnTheDeviceTrainsTheSameParameters) {
  const job::DistTraining job = WithFeatureCache(JobOnServers(client::testing::SmallGraph()), kPlenty);
  ExpectResumedRunTrainsTheSame(WithDeviceMemory(job, 2 << 10));
}

// No row comes from another machine, so only the device has a cache.
TEST_F(FeatureCacheTest, KeepsRowsOfMappedPartitionsOnTheDevice) {
  const graph::SourceGraph source = client::testing::SmallGraph();
  const shard::testing::TestGraph opened = shard::testing::MakeTestGraph(source, 2, 11);
  collective::SelfCollective alone;
  const job::DistTraining job = JobOnServers(source);
  std::vector<TrainOutcome> outcomes;
  for (const job::DistTraining& one : {job, WithDeviceMemory(WithFeatureCache(job, kPlenty), kPlenty)}) {
    telemetry::MetricRegistry metrics;
    Result<TrainOutcome> outcome = RunOnGraph(*opened.graph, one, {}, metrics, alone);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    outcomes.push_back(*std::move(outcome));
  }
  ExpectSame(outcomes[1], outcomes[0]);
  EXPECT_EQ(outcomes[0].device_rows.missed_rows, 0u);
  EXPECT_EQ(outcomes[1].feature_cache->hit_rows + outcomes[1].feature_cache->fetched_rows, 0u);
  EXPECT_GT(outcomes[1].device_rows.hit_rows, outcomes[1].device_rows.missed_rows);
  EXPECT_LE(outcomes[1].device_rows.missed_rows, opened.book.num_nodes()) << "each row is copied at most once";
}

TEST_F(FeatureCacheTest, FindsNoRemoteRowsInThisProcess) {
  const graph::SourceGraph source = client::testing::SmallGraph();
  const shard::testing::TestGraph opened = shard::testing::MakeTestGraph(source, 2, 11);
  EXPECT_FALSE(sampler::HasRemoteRows(*opened.graph, opened.book));
}

}  // namespace
}  // namespace espalier::trainer
