#include "services/trainer/testing/small_runs.h"

#include <gtest/gtest.h>

#include <atomic>

#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/open_store.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/testing/observing.h"
#include "services/trainer/testing/rank_threads.h"

namespace espalier::trainer {
namespace {

Result<TrainOutcome> RunSmallRank(const job::DistTraining& job, sampler::PartitionedGraph& graph,
                                  collective::Collective& collective, const SmallRun& run) {
  const graph::GraphSchema& schema = graph.book().schema();
  ASSIGN_OR_RETURN(sampler::SamplingSpec spec, MakeSamplingSpec(job.training.sampling, schema, job.training.seed));
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakeEpochPlan(job.training, schema, collective.size(), collective.rank()));
  sampler::LocalMiniBatchSource source(graph, graph, spec, plan, {});
  std::atomic<bool> stop = false;
  uint64_t steps = 0;
  TrainOptions options;
  options.inference_chunk_nodes = options.scoring_chunk = 16;  // small, so that there are several chunks
  options.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
  options.incarnation = run.incarnation;
  options.partition_key = "cut-in-" + std::to_string(run.partitions);
  options.stop_requested = &stop;
  Observing observer;
  options.observer = &observer;
  observer.on_step = [&](const RunPosition&) {
    if (++steps + 1 >= run.stop_after) stop = true;
  };
  if (run.phases != nullptr && collective.rank() == Rank(0)) {
    observer.on_phase = [&](RunPhase phase, std::optional<double> fraction) {
      run.phases->push_back({phase, fraction});
    };
  }
  if (run.store != nullptr) options.checkpoints = {run.store, "run/checkpoints"};
  if (!run.output.empty()) {
    ASSIGN_OR_RETURN(options.output, storage::OpenStore(run.output));
  }
  if (!job.training.model.uri.empty()) {
    ASSIGN_OR_RETURN(options.model, storage::LocateFile(job.training.model.uri, storage::OpenerWith({})));
  }
  return TrainJob(job, graph, source, collective, options);
}

}  // namespace

Result<TrainOutcome> RunSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run) {
  const shard::testing::TestGraph graph =
      shard::testing::MakeTestGraph(source, run.partitions, 11, {}, run.initializers);
  const auto run_rank = [&](collective::Collective& collective) {
    return RunSmallRank(job, *graph.graph, collective, run);
  };
  return RunAsThreads(run.trainers, run_rank, run.make_group)[0];
}

void ExpectExactFractions(const std::vector<PhaseReport>& reports) {
  for (size_t i = 0; i < reports.size(); ++i) {
    const std::string where = std::string("report ") + std::to_string(i) + ", " + ToString(reports[i].phase);
    if (!reports[i].fraction.has_value()) continue;
    const bool begins = i == 0 || reports[i - 1].phase != reports[i].phase || !reports[i - 1].fraction.has_value() ||
                        *reports[i].fraction == 0;
    if (begins) {
      EXPECT_EQ(*reports[i].fraction, 0) << where;
    } else {
      EXPECT_GE(*reports[i].fraction, *reports[i - 1].fraction) << where;
    }
    const bool ends = i + 1 == reports.size() || reports[i + 1].phase != reports[i].phase ||
                      !reports[i + 1].fraction.has_value() || *reports[i + 1].fraction == 0;
    if (ends) {
      EXPECT_EQ(*reports[i].fraction, 1) << where;
    } else {
      EXPECT_LT(*reports[i].fraction, 1) << where;
    }
  }
}

std::vector<std::string> PhaseNames(const std::vector<PhaseReport>& reports) {
  std::vector<std::string> names;
  for (const PhaseReport& report : reports) {
    if (names.empty() || names.back() != ToString(report.phase)) names.emplace_back(ToString(report.phase));
  }
  return names;
}

TrainOutcome TrainSmall(const graph::SourceGraph& source, const job::DistTraining& job, const SmallRun& run) {
  Result<TrainOutcome> outcome = RunSmall(source, job, run);
  EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcome.ok() ? *outcome : TrainOutcome();
}

}  // namespace espalier::trainer
