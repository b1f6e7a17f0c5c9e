// Each rank runs TrainJob in its own thread over the same graph, with an observer that counts steps. Stop requests
// arrive at the last rank after a fixed number of steps, so that a test knows where a run ends.
#include "services/trainer/testing/tiny_runs.h"

#include <gtest/gtest.h>

#include <atomic>

#include "services/base/mutex.h"
#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/testing/observing.h"
#include "services/trainer/testing/rank_threads.h"

namespace espalier::trainer {
namespace {

const graph::SourceGraph& GraphOfTinyRuns() {
  static const graph::SourceGraph* const graph = [] {
    graph::PowerLawOptions options;
    options.num_nodes = 150;
    options.num_edges = 900;
    options.community_size = 50;
    options.within_community = 0.8;
    options.num_classes = 3;
    options.features = {.width = 8, .dtype = DType::kF32, .signal = 0.3};
    options.split = {.train = 0.4, .validation = 0.2, .test = 0.3};
    options.seed = 5;
    return new graph::SourceGraph(*graph::GeneratePowerLawGraph(options, 1));
  }();
  return *graph;
}

// Returns the mini-batches of another source, then one that is late: Next blocks until the steps before it are done (or
// Cancel is called), requests a stop of the rank, and returns Cancelled.
class StalledSource final : public sampler::MiniBatchSource {
 public:
  StalledSource(sampler::MiniBatchSource& source, uint64_t num_batches, std::atomic<bool>& stop)
      : source_(source), num_batches_(num_batches), stop_(stop) {}

  void SetStepsDone(uint64_t steps) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    steps_done_ = steps;
  }

  Status StartEpoch(uint32_t epoch, uint32_t first_step) override { return source_.StartEpoch(epoch, first_step); }
  Result<sampler::MiniBatch> Next(Deadline deadline) override {
    if (num_taken_++ < num_batches_) return source_.Next(deadline);
    MutexLock lock(&mutex_);
    mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return is_cancelled_ || steps_done_ >= num_batches_;
    });
    stop_ = true;
    return Cancelled("asked to stop");
  }
  void Cancel() override {
    source_.Cancel();
    MutexLock lock(&mutex_);
    is_cancelled_ = true;
  }

 private:
  sampler::MiniBatchSource& source_;
  const uint64_t num_batches_;
  std::atomic<bool>& stop_;
  uint64_t num_taken_ = 0;  // used only by the thread that calls Next
  Mutex mutex_;
  uint64_t steps_done_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

Result<TrainOutcome> RunRank(const job::DistTraining& job, sampler::PartitionedGraph& graph,
                             collective::Collective& collective, const Attempt& run) {
  const graph::GraphSchema& schema = graph.book().schema();
  ASSIGN_OR_RETURN(sampler::SamplingSpec spec, MakeSamplingSpec(job.training.sampling, schema, job.training.seed));
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakeEpochPlan(job.training, schema, collective.size(), collective.rank()));
  sampler::LocalMiniBatchSource source(graph, graph, spec, plan, {});
  std::atomic<bool> stop = run.stop_after == 1;
  StalledSource stalled(source, run.give_up_after, stop);
  uint64_t steps = 0;
  TrainOptions options;
  options.inference_chunk_nodes = options.scoring_chunk = 64;
  options.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
  options.incarnation = run.incarnation;
  options.resume = run.resume;
  options.resume_from = run.resume_from;
  options.partition_key = "cut-in-" + std::to_string(run.partitions);
  if (run.store != nullptr) options.checkpoints = {run.store, kCheckpointsOfRuns};
  if (!job.training.model.uri.empty())
    options.model = *storage::LocateFile(job.training.model.uri, storage::OpenerWith({}));
  // The last rank gets the request, so that with several ranks it is not the rank that writes. The step after the
  // request sees it.
  const bool is_asked = collective.rank().value + 1 == collective.size();
  if (is_asked) options.stop_requested = &stop;
  uint64_t steps_before = 0;
  Observing observer;
  options.observer = &observer;
  observer.on_resumed = [&](const RunPosition& at) { steps_before = at.epoch * at.steps_per_epoch + at.step + 1; };
  // The evaluation after an epoch's last step would already see a stop request. So a stop that belongs to the next
  // epoch is requested after that evaluation.
  observer.on_step = [&](const RunPosition& at) {
    ++steps;
    if (at.step + 1 == at.steps_per_epoch) return;
    if (steps + 1 >= run.stop_after) stop = true;
    stalled.SetStepsDone(steps);
  };
  observer.on_epoch = [&](const EpochReport&) {
    if (steps + 1 >= run.stop_after) stop = true;
    stalled.SetStepsDone(steps);
  };
  if (run.stop_in_evaluation) observer.on_progress = [&] { stop = true; };
  sampler::MiniBatchSource* batches = &source;
  if (is_asked && run.give_up_after != UINT64_MAX) batches = &stalled;
  Result<TrainOutcome> outcome = TrainJob(job, graph, *batches, collective, options);
  if (run.num_steps != nullptr && collective.rank() == Rank(0)) *run.num_steps = steps;
  if (run.steps_before != nullptr && collective.rank() == Rank(0)) *run.steps_before = steps_before;
  return outcome;
}

}  // namespace

job::DistTraining TinyJob() {
  job::DistTraining job;
  job.name = "tiny";
  job.training.task.label = graph::kLabelColumn;
  job.training.task.split = graph::kRandomSplit;
  job.training.inputs = {{"", {graph::kFeatureColumn}}};
  job.training.model.hidden_size = 8;
  job.training.model.dropout = 0.2;
  job.training.sampling.layers = {{3, {}}, {3, {}}};
  job.training.batch_size = 25;
  job.training.epochs = 3;
  job.training.seed = 1;
  return job;
}

Store NewStore() { return std::make_shared<storage::MemoryStore>(); }

std::vector<Result<TrainOutcome>> RunRanks(const job::DistTraining& job, const Attempt& run) {
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(GraphOfTinyRuns(), run.partitions, 11);
  return RunAsThreads(run.trainers,
                      [&](collective::Collective& collective) { return RunRank(job, *graph.graph, collective, run); });
}

TrainOutcome TrainTiny(const job::DistTraining& job, const Attempt& run) {
  const auto outcomes = RunRanks(job, run);
  for (const auto& outcome : outcomes) {
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    if (!outcome.ok() || !outcomes[0].ok()) continue;
    EXPECT_EQ(outcome->parameters_digest, outcomes[0]->parameters_digest);
  }
  return outcomes[0].ok() ? *outcomes[0] : TrainOutcome();
}

Status RunToError(const job::DistTraining& job, const Attempt& run) {
  const auto outcomes = RunRanks(job, run);
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.status(), outcomes[0].status());
  return outcomes[0].status();
}

void ExpectSame(const TrainOutcome& resumed, const TrainOutcome& whole, const std::string& where) {
  EXPECT_EQ(resumed.parameters_digest, whole.parameters_digest) << where;
  EXPECT_EQ(resumed.rows_digest, whole.rows_digest) << where;
  EXPECT_EQ(resumed.loop.end, whole.loop.end) << where;
  EXPECT_EQ(resumed.loop.best_epoch, whole.loop.best_epoch) << where;
  EXPECT_EQ(resumed.loop.model_epoch, whole.loop.model_epoch) << where;
  EXPECT_EQ(resumed.loop.best_validation, whole.loop.best_validation) << where;
  EXPECT_EQ(resumed.loop.first_epoch_losses, whole.loop.first_epoch_losses) << where;
  EXPECT_EQ(resumed.test, whole.test) << where;
  ASSERT_EQ(resumed.loop.epochs.size(), whole.loop.epochs.size()) << where;
  for (size_t epoch = 0; epoch < whole.loop.epochs.size(); ++epoch) {
    EXPECT_EQ(resumed.loop.epochs[epoch].epoch, epoch) << where;
    EXPECT_EQ(resumed.loop.epochs[epoch].loss, whole.loop.epochs[epoch].loss) << where << " epoch " << epoch;
    EXPECT_EQ(resumed.loop.epochs[epoch].validation, whole.loop.epochs[epoch].validation) << where;
    EXPECT_EQ(resumed.loop.epochs[epoch].learning_rate, whole.loop.epochs[epoch].learning_rate) << where;
    EXPECT_EQ(resumed.loop.epochs[epoch].num_seeds, whole.loop.epochs[epoch].num_seeds) << where;
  }
}

std::vector<std::string> Checkpoints(const Store& store) {
  std::vector<std::string> names;
  const auto listings = format::ListCheckpoints(*store, kCheckpointsOfRuns);
  EXPECT_TRUE(listings.ok()) << listings.status().ToString();
  for (const format::CheckpointListing& listing : *listings) {
    EXPECT_EQ(listing.state, format::CheckpointState::kComplete) << listing.folder;
    EXPECT_TRUE(format::VerifyCheckpoint(*store, listing.folder).ok()) << listing.folder;
    names.push_back(format::CheckpointFolderName(listing.id));
  }
  return names;
}

}  // namespace espalier::trainer
