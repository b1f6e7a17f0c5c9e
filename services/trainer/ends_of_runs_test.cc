// The notifications of a run that is stopped, or fails, to its observer and to the other trainers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/collective/in_process_collective.h"
#include "services/collective/self_collective.h"
#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"
#include "services/storage/testing/hooked_store.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/testing/community.h"
#include "services/trainer/testing/observing.h"
#include "services/trainer/testing/rank_threads.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs a trainer that receives a stop request during its first step, so that it stops after its second step.
Result<TrainOutcome> RunAndStop(const job::DistTraining& job, sampler::PartitionedGraph& graph,
                                sampler::EmbeddingStore& embeddings, collective::Collective& collective,
                                TrainOptions options, Observing* observer) {
  const graph::GraphSchema& schema = graph.book().schema();
  ASSIGN_OR_RETURN(sampler::SamplingSpec spec, MakeSamplingSpec(job.training.sampling, schema, job.training.seed));
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakeEpochPlan(job.training, schema, collective.size(), collective.rank()));
  sampler::LocalMiniBatchSource source(graph, graph, spec, plan, {});
  std::atomic<bool> stop = false;
  options.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
  options.stop_requested = &stop;
  Observing none;
  if (observer == nullptr) observer = &none;
  observer->on_step = [&](const RunPosition&) { stop = true; };
  options.observer = observer;
  return TrainJob(job, {graph, graph, graph, graph, &embeddings}, source, collective, options);
}

Result<TrainOutcome> RunAloneAndStop(const TrainOptions& options, Observing* observer) {
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(CommunityGraph(), 2, 11);
  collective::SelfCollective self;
  return RunAndStop(CommunityJob(), *graph.graph, graph.graph->embeddings(), self, options, observer);
}

TEST(EndsOfRunsTest, ReportsFlopsOfStep) {
  bool computes = false;
  int times = 0;
  TrainOptions options;
  Observing observer;
  observer.on_compute_begin = [&] {
    EXPECT_FALSE(computes);
    computes = true;
    ++times;
  };
  observer.on_compute_end = [&] {
    EXPECT_TRUE(computes);
    computes = false;
  };
  const auto outcome = RunAloneAndStop(options, &observer);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_TRUE(outcome->stopped());
  EXPECT_FALSE(computes);
  EXPECT_EQ(times, 4) << "gradients and update of two steps";
}

TEST(EndsOfRunsTest, StoppedRunReportsCheckpoint) {
  std::vector<std::string> said;
  TrainOptions options;
  Observing observer;
  options.checkpoints = {std::make_shared<storage::MemoryStore>(), "checkpoints"};
  observer.on_stopped = [&] { said.emplace_back("stopped"); };
  observer.on_saved = [&] { said.emplace_back("saved"); };
  const auto outcome = RunAloneAndStop(options, &observer);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_THAT(said, ElementsAre("stopped", "saved"));
}

// OnSaved must be called even if the last checkpoint fails: the mini-batch in flight is not needed in this case either.
TEST(EndsOfRunsTest, CallsOnSavedIfLastCheckpointFails) {
  storage::MemoryStore disk;
  std::vector<std::string> said;
  TrainOptions options;
  Observing observer;
  options.checkpoints = {std::make_shared<storage::FaultyStore>(disk, 0), "checkpoints"};
  observer.on_stopped = [&] { said.emplace_back("stopped"); };
  observer.on_saved = [&] { said.emplace_back("saved"); };
  const Status ended = RunAloneAndStop(options, &observer).status();
  EXPECT_EQ(ended.code(), StatusCode::kResourceExhausted) << ended.ToString();
  EXPECT_THAT(ended.message(), HasSubstr("writing the last checkpoint"));
  EXPECT_THAT(said, ElementsAre("stopped", "saved"));
}

// Forwards all calls and records the timeouts of DropEmbedding.
class RecordingDropTimeouts final : public sampler::EmbeddingStore {
 public:
  explicit RecordingDropTimeouts(sampler::EmbeddingStore& store) : store_(store) {}

  const std::vector<std::chrono::nanoseconds>& patience() const { return patience_; }

  Status CheckRows(const sampler::EmbeddingSpec& spec, std::span<const GlobalRowId> rows) const override {
    return store_.CheckRows(spec, rows);
  }
  Status CreateEmbedding(const sampler::EmbeddingSpec& spec, Deadline deadline) override {
    return store_.CreateEmbedding(spec, deadline);
  }
  Result<Tensor> ReadEmbedding(const sampler::EmbeddingSpec& spec, uint64_t version, std::span<const GlobalRowId> rows,
                               Deadline deadline) override {
    return store_.ReadEmbedding(spec, version, rows, deadline);
  }
  void PushGradients(const sampler::EmbeddingSpec& spec, const sampler::StepOfTrainer& step,
                     std::span<const GlobalRowId> rows, const Tensor& gradients, Deadline deadline,
                     sampler::DoneStatus done) override {
    store_.PushGradients(spec, step, rows, gradients, deadline, std::move(done));
  }
  Status DropEmbedding(const sampler::TensorId& embedding, Deadline deadline) override {
    patience_.push_back(deadline.Remaining());
    return store_.DropEmbedding(embedding, deadline);
  }
  Result<Tensor> ReadState(const sampler::EmbeddingSpec& spec, std::span<const GlobalRowId> rows,
                           Deadline deadline) override {
    return store_.ReadState(spec, rows, deadline);
  }
  Status Restore(const sampler::EmbeddingSpec& spec, std::span<const GlobalRowId> rows, const Tensor& values,
                 const Tensor& state, Deadline deadline) override {
    return store_.Restore(spec, rows, values, state, deadline);
  }

 private:
  sampler::EmbeddingStore& store_;
  std::vector<std::chrono::nanoseconds> patience_;  // used by the training thread only
};

// The servers may be stopped at the same time as the run.
TEST(EndsOfRunsTest, StoppedRunDropsRowsWithShortDeadline) {
  job::DistTraining job = CommunityJob();
  job.training.inputs = {{"", {}, job::Embedding{.size = 4}}};
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(CommunityGraph(), 1, 11);
  RecordingDropTimeouts rows(graph.graph->embeddings());
  collective::SelfCollective self;
  const auto outcome = RunAndStop(job, *graph.graph, rows, self, {}, nullptr);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  ASSERT_EQ(rows.patience().size(), 1u);
  EXPECT_LE(rows.patience()[0], std::chrono::seconds(10));
}

// Trains one epoch with two trainers and a checkpoint after each step, if no upload is running. Returns rank 0's
// status.
Status RunOneEpoch(const std::shared_ptr<storage::ObjectStore>& store, uint64_t incarnation,
                   const std::function<void(bool is_over)>& on_progress) {
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(CommunityGraph(), 1, 11);
  job::DistTraining job = CommunityJob();
  job.training.epochs = 1;
  job.checkpoint.every_steps = 1;
  return RunAsThreads(2,
                      [&](collective::Collective& collective) -> Result<TrainOutcome> {
                        ASSIGN_OR_RETURN(sampler::SamplingSpec spec,
                                         MakeSamplingSpec(job.training.sampling, graph.book.schema(), 1));
                        ASSIGN_OR_RETURN(sampler::EpochPlan plan,
                                         MakeEpochPlan(job.training, graph.book.schema(), 2, collective.rank()));
                        sampler::LocalMiniBatchSource source(*graph.graph, *graph.graph, spec, plan, {});
                        bool is_over = false;
                        TrainOptions options;
                        options.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
                        options.incarnation = incarnation;
                        options.resume = ResumeMode::kNever;
                        if (collective.rank() == Rank(0)) options.checkpoints = {store, "checkpoints"};
                        Observing observer;
                        options.observer = &observer;
                        observer.on_epoch = [&](const EpochReport&) { is_over = true; };
                        observer.on_progress = [&] {
                          if (on_progress && collective.rank() == Rank(0)) on_progress(is_over);
                        };
                        return TrainJob(job, {*graph.graph, *graph.graph, *graph.graph, *graph.graph, nullptr}, source,
                                        collective, options);
                      })
      .front()
      .status();
}

// Writing the previous checkpoint may take longer than the timeout of a collective operation.
TEST(EndsOfRunsTest, AllRanksWaitForLastCheckpoint) {
  storage::MemoryStore inner;
  ASSERT_EQ(RunOneEpoch(std::shared_ptr<storage::ObjectStore>(&inner, [](auto*) {}), 1, {}), Status());
  // Older checkpoints are read before one of them is removed. The store blocks these reads.
  std::promise<void> waits;
  const std::shared_future<void> is_waited_for = waits.get_future().share();
  std::atomic<int> in_vain = 0, reads = 0;  // atomic, because the uploading thread reads
  const auto slow = std::make_shared<storage::HookedStore>(inner, [&](const std::string& key, auto, auto) {
    if (key.find("/000001-") == std::string::npos) return Status();
    ++reads;
    if (is_waited_for.wait_for(std::chrono::seconds(30)) != std::future_status::ready) ++in_vain;
    return Status();
  });
  bool is_reported = false;
  ASSERT_EQ(RunOneEpoch(slow, 2,
                        [&](bool is_over) {
                          if (is_over && !std::exchange(is_reported, true)) waits.set_value();
                        }),
            Status());
  EXPECT_GT(reads, 0);
  EXPECT_EQ(in_vain, 0);
  EXPECT_EQ(format::ListCheckpoints(inner, "checkpoints")->back().id.incarnation, 2u);
}

TEST(EndsOfRunsTest, RankThatCannotStartLeavesGroup) {
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(CommunityGraph(), 1, 11);
  auto ranks = collective::MakeInProcessGroup(2);  // outlives the threads, so a failed rank must leave explicitly
  std::vector<Status> ends(2);
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      job::DistTraining job = CommunityJob();
      if (rank == 1) job.training.inputs = {{"", {"missing"}}};
      ends[rank] = RunAndStop(job, *graph.graph, graph.graph->embeddings(), *ranks[rank], {}, nullptr).status();
    });
  }
  threads.clear();  // joins
  EXPECT_EQ(ends[1].code(), StatusCode::kNotFound);
  EXPECT_EQ(ends[0].code(), StatusCode::kUnavailable) << ends[0].ToString();
  EXPECT_THAT(ends[0].message(), HasSubstr("rank 1 left the group"));
}

}  // namespace
}  // namespace espalier::trainer
