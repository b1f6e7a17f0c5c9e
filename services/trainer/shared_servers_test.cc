// Two jobs on the same graph servers, whose learnable rows and full-neighborhood evaluations have the same names, types
// and widths. Each must give bitwise the same results as alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <latch>
#include <string>
#include <utility>

#include "services/client/testing/served_graph.h"
#include "services/collective/self_collective.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/testing/disturbed_store.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using client::testing::ServedGraph;
using testing::HasSubstr;

job::DistTraining JobOfSeed(uint64_t seed) {
  job::DistTraining job;
  job.training.task.label = graph::kLabelColumn;
  job.training.task.split = graph::kRandomSplit;
  job.training.inputs = {{"", {graph::kFeatureColumn}, job::Embedding{.size = 4}}};
  job.training.model.hidden_size = 8;
  job.training.evaluation.neighborhood = job::EvaluationNeighborhood::kFull;
  job.training.sampling.layers = {{3, {}}, {3, {}}};
  job.training.batch_size = 200;
  job.training.epochs = 2;
  job.training.seed = seed;
  return job;
}

struct SharedRun {
  std::string job_name;  // value of --job-name
  uint64_t incarnation = 1;
  std::function<void()> in_evaluation = {};  // called during the first evaluation
};

// Runs a job with one trainer, which accesses the servers by RPC.
Result<TrainOutcome> RunBeside(const ServedGraph& served, const job::DistTraining& job, const SharedRun& run) {
  client::SessionOptions options;
  options.addresses = served.addresses();
  options.access = client::Access::kRpc;
  options.job = run.job_name;
  options.incarnation = run.incarnation;
  ASSIGN_OR_RETURN(const client::Session session, client::Connect(options));
  sampler::PartitionedGraph& graph = *session.graph;
  const graph::GraphSchema& schema = graph.book().schema();
  ASSIGN_OR_RETURN(sampler::SamplingSpec spec, MakeSamplingSpec(job.training.sampling, schema, job.training.seed));
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakeEpochPlan(job.training, schema, 1, Rank(0)));
  sampler::LocalMiniBatchSource batches(graph, graph, spec, plan, {});
  collective::SelfCollective alone;
  TrainOptions training;
  training.incarnation = run.incarnation;
  training.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
  DisturbedStore tensors(graph, 1, run.in_evaluation);
  return TrainJob(job, {graph, graph, graph, tensors, &graph.embeddings()}, batches, alone, training);
}

class SharedServersTest : public testing::Test {
 protected:
  TrainOutcome Alone(const job::DistTraining& job) {
    const ServedGraph served(client::testing::SmallGraph(), 2);
    const auto outcome = RunBeside(served, job, {.job_name = "alone"});
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    return outcome.ok() ? *outcome : TrainOutcome();
  }
  static void ExpectAsAlone(const Result<TrainOutcome>& outcome, const TrainOutcome& alone) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_EQ(outcome->parameters_digest, alone.parameters_digest);
    EXPECT_EQ(outcome->rows_digest, alone.rows_digest);
    EXPECT_EQ(outcome->validation, alone.validation);
    EXPECT_EQ(outcome->test, alone.test);
  }

  const job::DistTraining first_ = JobOfSeed(1), second_ = JobOfSeed(2);
  const ServedGraph served_{client::testing::SmallGraph(), 2};
};

TEST_F(SharedServersTest, ConcurrentJobDoesNotAffectEvaluation) {
  const TrainOutcome first_alone = Alone(first_), second_alone = Alone(second_);
  ASSERT_NE(first_alone.parameters_digest, second_alone.parameters_digest);
  ASSERT_EQ(first_alone.rows_digest.size(), 64u);

  Result<TrainOutcome> second = Internal("the second job has not run");
  const auto run_second = [&] { second = RunBeside(served_, second_, {.job_name = "second"}); };
  ExpectAsAlone(RunBeside(served_, first_, {.job_name = "first", .in_evaluation = run_second}), first_alone);
  ExpectAsAlone(second, second_alone);
}

TEST_F(SharedServersTest, NextJobStartsAtFirstIncarnation) {
  ASSERT_TRUE(RunBeside(served_, first_, {.job_name = "first", .incarnation = 3}).ok());
  ExpectAsAlone(RunBeside(served_, second_, {.job_name = "second"}), Alone(second_));

  const Status of_the_past = RunBeside(served_, first_, {.job_name = "first"}).status();
  EXPECT_EQ(of_the_past.code(), StatusCode::kAborted);
  EXPECT_THAT(of_the_past.message(), HasSubstr("incarnation 1 of job 'first', which is now in incarnation 3"));
}

// Jobs need distinct names, because servers regard runs of the same name as one job. Here the second run begins during
// the first one's evaluation, and waits during its own evaluation until the first run has ended.
TEST_F(SharedServersTest, LaterOfTwoRunsWithSameNameHasRows) {
  std::latch second_is_there(1), first_has_ended(1);
  const auto run_second = [&] {
    bool arrived = false;
    const auto arrive = [&] {
      if (!std::exchange(arrived, true)) second_is_there.count_down();
    };
    const auto wait = [&] {
      arrive();
      first_has_ended.wait();
    };
    Result<TrainOutcome> outcome = RunBeside(served_, second_, {.job_name = "same", .in_evaluation = wait});
    arrive();  // also if the run failed before its evaluation
    return outcome;
  };
  std::future<Result<TrainOutcome>> second;
  const auto begin_second = [&] {
    second = std::async(std::launch::async, run_second);
    second_is_there.wait();
  };
  const Status first = RunBeside(served_, first_, {.job_name = "same", .in_evaluation = begin_second}).status();
  first_has_ended.count_down();
  EXPECT_EQ(first.code(), StatusCode::kAborted);
  EXPECT_THAT(first.message(), HasSubstr("belong to another run that uses these servers"));
  ASSERT_TRUE(second.valid()) << first.ToString();
  ExpectAsAlone(second.get(), Alone(second_));
}

// The same, but the second run has ended and dropped its rows before the first run continues.
TEST_F(SharedServersTest, RunLosesRowsToLaterRunWithSameName) {
  Result<TrainOutcome> second = Internal("the second job has not run");
  const auto run_second = [&] { second = RunBeside(served_, second_, {.job_name = "same"}); };
  const Status first = RunBeside(served_, first_, {.job_name = "same", .in_evaluation = run_second}).status();
  EXPECT_EQ(first.code(), StatusCode::kUnavailable);
  EXPECT_THAT(first.message(), HasSubstr("has lost the learnable rows"));
  ExpectAsAlone(second, Alone(second_));
}

}  // namespace
}  // namespace espalier::trainer
