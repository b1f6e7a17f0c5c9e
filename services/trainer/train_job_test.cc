// Complete runs on generated graphs. Trainers are threads, and all partitions are in this process.
#include "services/trainer/train_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "services/collective/self_collective.h"
#include "services/format/results/outputs_manifest.h"
#include "services/graph/generators.h"
#include "services/sampler/batches/audit.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/shard/testing/test_graph.h"
#include "services/trainer/data/sampling_plan.h"
#include "services/trainer/model/model_file.h"
#include "services/trainer/testing/community.h"
#include "services/trainer/testing/observing.h"
#include "services/trainer/testing/process_folder.h"
#include "services/trainer/testing/rank_threads.h"

namespace espalier::trainer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

struct Trainers {
  uint32_t partitions = 1;
  uint32_t trainers = 1;
  std::string audit_name;             // empty: none
  std::atomic<bool>* stop = nullptr;  // stop request of rank 0
  std::function<void(const RunPosition&, uint32_t rank)> on_step;
  uint32_t failing_rank = UINT32_MAX;  // the rank whose source fails at the third mini-batch
  std::string output_dir;
  std::string model_file;         // initial model
  std::string others_model_file;  // initial model of ranks above 0; empty: the same
};

std::string AuditPath(const std::string& name, uint32_t rank) {
  return FolderOfThisProcess() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" + name +
         "-" + std::to_string(rank) + ".bin";
}

// Forwards to another source and fails from the third mini-batch on.
class BreakingSource final : public sampler::MiniBatchSource {
 public:
  explicit BreakingSource(sampler::MiniBatchSource& source) : source_(source) {}
  Status StartEpoch(uint32_t epoch, uint32_t first_step) override { return source_.StartEpoch(epoch, first_step); }
  Result<sampler::MiniBatch> Next(Deadline deadline) override {
    if (++num_calls_ > 2) return Unavailable("graph server 1 is gone");
    return source_.Next(deadline);
  }
  void Cancel() override { source_.Cancel(); }

 private:
  sampler::MiniBatchSource& source_;
  int num_calls_ = 0;
};

Result<TrainOutcome> RunRank(const job::DistTraining& job, sampler::PartitionedGraph& graph,
                             collective::Collective& collective, const Trainers& trainers) {
  const uint32_t rank = collective.rank().value;
  const graph::GraphSchema& schema = graph.book().schema();
  ASSIGN_OR_RETURN(sampler::SamplingSpec spec, MakeSamplingSpec(job.training.sampling, schema, job.training.seed));
  ASSIGN_OR_RETURN(sampler::EpochPlan plan, MakeEpochPlan(job.training, schema, collective.size(), collective.rank()));
  sampler::LocalMiniBatchSource source(graph, graph, spec, plan, {});
  BreakingSource breaking(source);
  TrainOptions options;
  options.inference_chunk_nodes = options.scoring_chunk = 128;
  options.timeouts = {std::chrono::seconds(60), std::chrono::seconds(60)};
  if (!trainers.output_dir.empty()) options.output = *storage::OpenStore(trainers.output_dir);
  const bool has_another = rank > 0 && !trainers.others_model_file.empty();
  const std::string& model_file = has_another ? trainers.others_model_file : trainers.model_file;
  if (!model_file.empty()) options.model = *storage::LocateFile(model_file, storage::OpenerWith({}));
  if (!trainers.audit_name.empty()) options.audit_path = AuditPath(trainers.audit_name, rank);
  if (rank == 0) options.stop_requested = trainers.stop;
  Observing observer;
  observer.on_step = [&](const RunPosition& position) {
    if (trainers.on_step) trainers.on_step(position, rank);
  };
  options.observer = &observer;
  sampler::MiniBatchSource* chosen = &source;
  if (rank == trainers.failing_rank) chosen = &breaking;
  return TrainJob(job, graph, *chosen, collective, options);
}

std::vector<Result<TrainOutcome>> RunRanks(const graph::SourceGraph& source, const job::DistTraining& job,
                                           const Trainers& trainers) {
  const shard::testing::TestGraph graph = shard::testing::MakeTestGraph(source, trainers.partitions, 11);
  return RunAsThreads(trainers.trainers, [&](collective::Collective& collective) {
    return RunRank(job, *graph.graph, collective, trainers);
  });
}

TrainOutcome Train(const job::DistTraining& job, const Trainers& trainers = {}) {
  auto outcomes = RunRanks(CommunityGraph(), job, trainers);
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
  return outcomes[0].ok() ? *outcomes[0] : TrainOutcome();
}

std::string SamplesDigest(const Trainers& trainers) {
  std::vector<std::string> paths;
  for (uint32_t rank = 0; rank < trainers.trainers; ++rank) paths.push_back(AuditPath(trainers.audit_name, rank));
  const auto summary = sampler::MergeAudits(paths);
  EXPECT_TRUE(summary.ok()) << summary.status().ToString();
  return summary.ok() ? summary->samples_digest : "";
}

TEST(TrainJobTest, LearnsTheCommunities) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 10;
  const TrainOutcome outcome = Train(job);
  ASSERT_EQ(outcome.loop.epochs.size(), 10u);
  EXPECT_LT(outcome.loop.epochs.back().loss, 0.5 * outcome.loop.epochs.front().loss);
  ASSERT_TRUE(outcome.test.has_value() && outcome.validation.has_value());
  EXPECT_GT(*outcome.test, 0.9);
  EXPECT_EQ(outcome.validation, outcome.loop.best_validation);
  EXPECT_EQ(outcome.loop.first_epoch_losses.size(), 4u);  // 180 training nodes in batches of 50
}

TEST(TrainJobTest, GivesTheSameBitsForAnyPartitioning) {
  const job::DistTraining job = CommunityJob();
  const TrainOutcome one = Train(job, {.partitions = 1, .audit_name = "1"});
  for (const uint32_t partitions : {2u, 4u}) {
    const Trainers trainers{.partitions = partitions, .audit_name = std::to_string(partitions)};
    const TrainOutcome several = Train(job, trainers);
    EXPECT_EQ(several.parameters_digest, one.parameters_digest) << partitions;
    EXPECT_EQ(several.test, one.test) << partitions;
    EXPECT_EQ(SamplesDigest(trainers), SamplesDigest({.audit_name = "1"})) << partitions;
  }
}

TEST(TrainJobTest, LearnsFromNodesThatAreExpandedOnce) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 10;
  const TrainOutcome always = Train(job);
  job.training.sampling.draw.expand = sampler::Expand::kOnce;
  const TrainOutcome once = Train(job);
  EXPECT_GT(*once.test, 0.9);
  EXPECT_NE(once.parameters_digest, always.parameters_digest);
  EXPECT_EQ(Train(job, {.partitions = 3}).parameters_digest, once.parameters_digest);
  EXPECT_GT(*Train(job, {.partitions = 2, .trainers = 2}).test, 0.9);
}

TEST(TrainJobTest, TakesTheSameStepsWithSeveralTrainers) {
  const job::DistTraining job = CommunityJob();
  const TrainOutcome one = Train(job, {.audit_name = "1"});
  for (const uint32_t count : {2u, 3u}) {
    const Trainers trainers{.partitions = 2, .trainers = count, .audit_name = std::to_string(count)};
    const TrainOutcome several = Train(job, trainers);
    ASSERT_EQ(several.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
    for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
      EXPECT_NEAR(several.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-4);
    }
    EXPECT_EQ(SamplesDigest(trainers), SamplesDigest({.audit_name = "1"})) << count;
    EXPECT_NEAR(*several.test, *one.test, 0.01);
    EXPECT_EQ(Train(job, {.partitions = 2, .trainers = count}).parameters_digest, several.parameters_digest);
  }
}

// Without features, so that only learnable rows can be trained.
job::DistTraining JobWithLearnableRows() {
  job::DistTraining job = CommunityJob();
  job.training.inputs = {{"", {}, job::Embedding{.size = 12}}};
  job.training.inputs[0].embedding->initializer = {.low = -0.1, .high = 0.1};
  job.training.inputs[0].embedding->optimizer.learning_rate = 0.1;
  job.training.epochs = 12;
  return job;
}

TEST(TrainJobTest, LearnsTheCommunitiesFromLearnableRowsAlone) {
  const TrainOutcome outcome = Train(JobWithLearnableRows());
  EXPECT_GT(*outcome.test, 0.7);
  EXPECT_LT(outcome.loop.epochs.back().loss, 0.5 * outcome.loop.epochs.front().loss);
  EXPECT_EQ(outcome.loop.model_epoch, 11u) << "rows keep no earlier state";
  EXPECT_EQ(outcome.loop.epochs[outcome.loop.best_epoch].validation, outcome.loop.best_validation);
}

TEST(TrainJobTest, LearnableRowsGiveTheSameBitsForAnyPartitioning) {
  for (const auto type : {job::SparseOptimizerType::kAdagrad, job::SparseOptimizerType::kAdam}) {
    job::DistTraining job = JobWithLearnableRows();
    job.training.inputs[0].features = {graph::kFeatureColumn};
    job.training.inputs[0].embedding->optimizer.type = type;
    job.training.epochs = 3;
    const TrainOutcome one = Train(job, {.partitions = 1});
    for (const uint32_t partitions : {2u, 4u}) {
      const TrainOutcome several = Train(job, {.partitions = partitions});
      EXPECT_EQ(several.parameters_digest, one.parameters_digest) << partitions;
      EXPECT_EQ(several.rows_digest, one.rows_digest) << partitions;
      EXPECT_EQ(several.test, one.test) << partitions;
    }
    EXPECT_EQ(one.rows_digest.size(), 64u);
    job.training.epochs = 2;
    EXPECT_NE(Train(job).rows_digest, one.rows_digest) << "of other rows";
  }
}

TEST(TrainJobTest, LearnableRowsTakeTheSameStepsWithSeveralTrainers) {
  const job::DistTraining job = JobWithLearnableRows();
  const TrainOutcome one = Train(job);
  for (const uint32_t count : {2u, 3u}) {
    const Trainers trainers{.partitions = 2, .trainers = count};
    const TrainOutcome several = Train(job, trainers);
    ASSERT_EQ(several.loop.first_epoch_losses.size(), one.loop.first_epoch_losses.size());
    for (size_t step = 0; step < one.loop.first_epoch_losses.size(); ++step) {
      EXPECT_NEAR(several.loop.first_epoch_losses[step] / one.loop.first_epoch_losses[step], 1.0, 1e-3);
    }
    EXPECT_EQ(Train(job, trainers).parameters_digest, several.parameters_digest) << "in any arrival order";
  }
}

TEST(TrainJobTest, LearnableRowsStayInStepIfMostSharesAreEmpty) {
  job::DistTraining job = JobWithLearnableRows();
  job.training.epochs = 1;
  job.training.batch_size = 2;
  const TrainOutcome outcome = Train(job, {.partitions = 2, .trainers = 3});
  EXPECT_EQ(outcome.loop.first_epoch_losses.size(), 90u);
}

TEST(TrainJobTest, DependsOnTheSeed) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 1;
  const TrainOutcome one = Train(job, {.audit_name = "1"});
  EXPECT_EQ(Train(job).parameters_digest, one.parameters_digest);
  job.training.seed = 2;
  EXPECT_NE(Train(job, {.audit_name = "2"}).parameters_digest, one.parameters_digest);
  EXPECT_NE(SamplesDigest({.audit_name = "2"}), SamplesDigest({.audit_name = "1"}));
}

TEST(TrainJobTest, TrainersStayInStepIfMostSharesAreEmpty) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 1;
  job.training.batch_size = 2;
  for (const auto normalization : {job::LayerNormalization::kNone, job::LayerNormalization::kBatch}) {
    job.training.model.normalization = normalization;
    EXPECT_EQ(Train(job, {.partitions = 2, .trainers = 3}).loop.first_epoch_losses.size(), 90u);
  }
}

TEST(TrainJobTest, StopsAllTrainersAfterSameStep) {
  std::atomic<bool> stop = false;
  const Trainers trainers{.trainers = 2, .stop = &stop, .on_step = [&](const RunPosition& position, uint32_t rank) {
                            if (rank == 0 && position.epoch == 1 && position.step == 1) stop = true;
                          }};
  const auto outcomes = RunRanks(CommunityGraph(), CommunityJob(), trainers);
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_TRUE(outcome->stopped());
    EXPECT_EQ(outcome->loop.epochs.size(), 2u);
    EXPECT_EQ(outcome->loop.epochs[1].num_seeds, 150u);  // the request was noticed in the third step
  }
}

TEST(TrainJobTest, EndsAllTrainersWithTheErrorOfOne) {
  for (const auto normalization : {job::LayerNormalization::kNone, job::LayerNormalization::kBatch}) {
    job::DistTraining job = CommunityJob();
    job.training.model.normalization = normalization;
    const auto outcomes = RunRanks(CommunityGraph(), job, {.trainers = 3, .failing_rank = 1});
    for (const auto& outcome : outcomes) {
      EXPECT_EQ(outcome.status().code(), StatusCode::kUnavailable);
      EXPECT_THAT(outcome.status().message(), HasSubstr("trainer 1: mini-batch of epoch 0, step 2"));
      EXPECT_THAT(outcome.status().message(), HasSubstr("graph server 1 is gone"));
    }
  }
}

TEST(TrainJobTest, StopsEarlyAndKeepsTheBest) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 60;
  job.training.evaluation.patience = 3;
  const TrainOutcome outcome = Train(job);
  EXPECT_EQ(outcome.loop.end, LoopEnd::kEarlyStopping);
  EXPECT_EQ(outcome.loop.epochs.back().epoch, outcome.loop.best_epoch + 3);
  EXPECT_EQ(outcome.validation, outcome.loop.epochs[outcome.loop.best_epoch].validation);
  for (const EpochReport& epoch : outcome.loop.epochs) EXPECT_LE(epoch.validation, outcome.loop.best_validation);
}

TEST(TrainJobTest, AuditsOnlyTrainedSteps) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 60;
  job.training.evaluation.patience = 2;
  const TrainOutcome early = Train(job, {.trainers = 2, .audit_name = "early"});
  ASSERT_EQ(early.loop.end, LoopEnd::kEarlyStopping);
  job.training.epochs = static_cast<int64_t>(early.loop.epochs.size());
  job.training.evaluation.patience = 0;
  Train(job, {.audit_name = "whole"});
  EXPECT_EQ(SamplesDigest({.trainers = 2, .audit_name = "early"}), SamplesDigest({.audit_name = "whole"}));
}

TEST(TrainJobTest, EvaluatesAtIntervalAndAfterLastEpoch) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 5;
  job.training.evaluation.every_epochs = 2;
  const TrainOutcome outcome = Train(job);
  ASSERT_EQ(outcome.loop.epochs.size(), 5u);
  for (const EpochReport& epoch : outcome.loop.epochs) {
    EXPECT_EQ(epoch.validation.has_value(), epoch.epoch == 1 || epoch.epoch == 3 || epoch.epoch == 4) << epoch.epoch;
  }
}

TEST(TrainJobTest, EvaluatesOverSampledNeighborhoods) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 10;
  job.training.evaluation.neighborhood = job::EvaluationNeighborhood::kSampled;
  const TrainOutcome one = Train(job);
  EXPECT_GT(*one.test, 0.85);
  const TrainOutcome cut = Train(job, {.partitions = 3});
  EXPECT_EQ(cut.test, one.test);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the elements of a .npy file whose header contains `description`.
template <class T>
std::vector<T> ReadNpy(const std::string& path, const std::string& description) {
  const std::string text = ReadFile(path);
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t begin = 10u + static_cast<uint8_t>(text[8]) + (size_t{static_cast<uint8_t>(text[9])} << 8);
  EXPECT_EQ(begin % 64, 0u);
  EXPECT_THAT(text.substr(10, begin - 10), HasSubstr(description));
  std::vector<T> values((text.size() - begin) / sizeof(T));
  std::memcpy(values.data(), text.data() + begin, values.size() * sizeof(T));
  return values;
}

TEST(TrainJobTest, WritesModelAndNodeResultsUnderOriginalIds) {
  job::DistTraining job = CommunityJob();
  job.output_save = {job::OutputKind::kModel, job::OutputKind::kEmbeddings, job::OutputKind::kPredictions};
  const std::string prefix = FolderOfThisProcess() + "/train-job-outputs", dir = prefix + "/results/000001";
  std::filesystem::remove_all(prefix);
  const TrainOutcome outcome = Train(job, {.partitions = 3, .trainers = 2, .output_dir = prefix});

  const graph::SourceGraph& source = CommunityGraph();
  const auto ids = ReadNpy<uint64_t>(dir + "/predictions/node/ids.npy", "(600,)");
  const auto classes = ReadNpy<int64_t>(dir + "/predictions/node/values.npy", "(600,)");
  ASSERT_EQ(ids.size(), 600u);
  ASSERT_EQ(classes.size(), 600u);
  for (size_t row = 0; row < ids.size(); ++row) EXPECT_EQ(ids[row], row);
  const Tensor& labels = source.nodes[0].columns.at(graph::kLabelColumn);
  const std::vector<uint64_t>& test = source.splits.at(graph::kRandomSplit).at(0).test;
  const auto right = std::count_if(test.begin(), test.end(), [&](uint64_t node) {
    return classes[node] == labels.ValueAsInt(static_cast<int64_t>(node));
  });
  EXPECT_DOUBLE_EQ(*outcome.test, static_cast<double>(right) / static_cast<double>(test.size()));

  EXPECT_EQ(ReadNpy<float>(dir + "/logits/node/values.npy", "(600, 3)").size(), 1800u);
  EXPECT_EQ(ReadNpy<float>(dir + "/embeddings/node/values.npy", "(600, 16)").size(), 9600u);
  EXPECT_THAT(ReadFile(prefix + "/result.json"), HasSubstr(outcome.parameters_digest));
  const storage::StoreLocation place = *storage::OpenStore(prefix);
  const auto manifest = format::ReadOutputsManifest(*place.store, place.prefix);
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  std::vector<std::string> keys;
  for (const format::OutputFile& output : manifest->files)
    keys.push_back(output.file.key.substr(strlen("results/000001/")));
  EXPECT_THAT(keys, IsSupersetOf({"metrics.jsonl", "model/best.safetensors", "model/last.safetensors",
                                  "embeddings/manifest.json", "predictions/manifest.json", "logits/node/values.npy"}));
  EXPECT_THAT(keys, Not(Contains("model/best.pt")));
  EXPECT_THAT(manifest->not_written.at("model/best.pt"), HasSubstr("add TorchScript to spec.output.save"));
  const auto report = format::VerifyOutputs(*place.store, place.prefix, *manifest);
  EXPECT_TRUE(report.ok() && report->ok());
}

TEST(TrainJobTest, WritesTorchScriptOnRequest) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 1;
  job.output_save = {job::OutputKind::kTorchScript};
  const std::string prefix = FolderOfThisProcess() + "/train-job-script";
  std::filesystem::remove_all(prefix);
  Train(job, {.output_dir = prefix});
  EXPECT_TRUE(std::filesystem::exists(prefix + "/results/000001/model/best.pt"));
  EXPECT_FALSE(std::filesystem::exists(prefix + "/results/000001/model/best.safetensors"));
  EXPECT_THAT(ReadFile(prefix + "/result.json"), Not(HasSubstr("best.pt")));
}

TEST(TrainJobTest, AdvisesTorchScriptOnlyForSupportedModels) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 1;
  job.training.model.type = job::ModelType::kGcn;
  job.output_save = {job::OutputKind::kModel};
  const std::string prefix = FolderOfThisProcess() + "/train-job-no-script";
  std::filesystem::remove_all(prefix);
  Train(job, {.output_dir = prefix});
  EXPECT_TRUE(std::filesystem::exists(prefix + "/results/000001/model/best.safetensors"));
  EXPECT_THAT(ReadFile(prefix + "/result.json"), Not(HasSubstr("best.pt")));
}

TEST(TrainJobTest, AppliesAModelToAGraphWithoutLabelsAndSplits) {
  job::DistTraining job = CommunityJob();
  job.output_save = {job::OutputKind::kModel, job::OutputKind::kPredictions};
  const std::string trained = FolderOfThisProcess() + "/train-job-trained", inferred = trained + "-inferred";
  for (const std::string& dir : {trained, inferred}) std::filesystem::remove_all(dir);
  const TrainOutcome outcome = Train(job, {.output_dir = trained});

  graph::SourceGraph bare = CommunityGraph();
  bare.nodes[0].columns.erase(graph::kLabelColumn);
  bare.splits.clear();
  const std::string model = trained + "/results/000001/model/best.safetensors";
  job.training.model.uri = model;
  job.training.epochs = 0;
  const auto outcomes =
      RunRanks(bare, job, {.partitions = 2, .trainers = 2, .output_dir = inferred, .model_file = model});
  for (const auto& ended : outcomes) {
    ASSERT_TRUE(ended.ok()) << ended.status().ToString();
    EXPECT_EQ(ended->parameters_digest, outcome.parameters_digest);
    EXPECT_EQ(ended->test, std::nullopt);
  }
  const std::string logits = "/results/000001/logits/node/values.npy";
  EXPECT_EQ(ReadFile(inferred + logits), ReadFile(trained + logits));
  EXPECT_THAT(ReadFile(inferred + "/result.json"),
              HasSubstr("the graph has no column '" + std::string(graph::kLabelColumn)));
}

// As if the file were replaced while the trainers start.
TEST(TrainJobTest, RefusesDifferentModelsOnTrainers) {
  job::DistTraining job = CommunityJob();
  job.training.epochs = 1;
  job.output_save = {job::OutputKind::kModel};
  std::vector<std::string> models;
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}}) {
    const std::string dir = FolderOfThisProcess() + "/model-of-seed-" + std::to_string(seed);
    std::filesystem::remove_all(dir);
    job.training.seed = seed;
    Train(job, {.output_dir = dir});
    models.push_back(dir + "/results/000001/model/best.safetensors");
  }
  job.training.model.uri = models[0];
  const Trainers trainers{.trainers = 2, .model_file = models[0], .others_model_file = models[1]};
  for (const auto& ended : RunRanks(CommunityGraph(), job, trainers)) {
    EXPECT_EQ(ended.status().code(), StatusCode::kInvalidArgument) << ended.status().ToString();
    EXPECT_THAT(ended.status().message(), HasSubstr("trainers read different models from"));
  }
}

TEST(TrainJobTest, NamesPartsMissingInGraph) {
  job::DistTraining job = CommunityJob();
  job.training.inputs = {{"", {"feat"}}};
  const auto outcomes = RunRanks(CommunityGraph(), job, {});
  EXPECT_EQ(outcomes[0].status().code(), StatusCode::kNotFound);
  EXPECT_THAT(outcomes[0].status().message(), HasSubstr("no column 'feat'; it has: "));
  EXPECT_THAT(outcomes[0].status().message(), HasSubstr(graph::kFeatureColumn));
}

}  // namespace
}  // namespace espalier::trainer
