#include "services/trainer/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "services/format/files/safetensors.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"
#include "services/storage/testing/temporary_folder.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RunFacts Facts() {
  RunFacts facts;
  facts.job.name = "cora";
  facts.job.training.seed = 7;
  facts.job.training.sampling.layers.resize(2);
  facts.graph_name = "cora";
  facts.math.threads = 1;
  facts.math.blas_kernel = "Haswell";
  facts.num_partitions = 2;
  facts.num_trainers = 3;
  facts.steps_per_epoch = 5;
  facts.incarnation = 1;
  return facts;
}

TrainOutcome Outcome() {
  TrainOutcome outcome;
  for (uint32_t epoch = 0; epoch < 2; ++epoch) {
    EpochReport report;
    report.epoch = epoch;
    report.loss = 2.0 - epoch;
    report.total_seconds = 0.5;
    if (epoch == 1) report.validation = 0.75;
    outcome.loop.epochs.push_back(report);
  }
  outcome.loop.first_epoch_losses = {2.5, 1.5};
  outcome.loop.best_epoch = 1;
  outcome.loop.model_epoch = 2;
  outcome.rows_digest = "0abc";
  outcome.test = 0.8125;
  outcome.validation = 0.75;
  outcome.parameters_digest = "abc";
  return outcome;
}

TEST(OutputsTest, NamesResultsAfterTheMetric) {
  EXPECT_EQ(ResultKey("test", job::Metric::kAccuracy), "testAccuracy");
  EXPECT_EQ(ResultKey("validation", job::Metric::kMeanSquaredError), "validationMeanSquaredError");
}

TEST(OutputsTest, ReportsSavingsOfFeatureCache) {
  TrainOutcome outcome = Outcome();
  EXPECT_FALSE(nlohmann::json::parse(ResultJson(Facts(), outcome)).contains("featureCache"));
  outcome.feature_cache = {
      .hit_rows = 5, .shared_rows = 2, .fetched_rows = 3, .hit_bytes = 50, .shared_bytes = 20, .fetched_bytes = 30};
  outcome.device_rows = {.hit_rows = 7, .missed_rows = 4, .hit_bytes = 70};
  const auto result = nlohmann::json::parse(ResultJson(Facts(), outcome));
  const nlohmann::json expected = {{"hitRows", 5},      {"sharedRows", 2},    {"fetchedRows", 3},
                                   {"deviceRows", 7},   {"copiedRows", 4},    {"savedBytes", 50},
                                   {"sharedBytes", 20}, {"fetchedBytes", 30}, {"deviceBytes", 70}};
  EXPECT_EQ(result["featureCache"], expected);
}

TEST(OutputsTest, ReportsResultOfRun) {
  const auto result = nlohmann::json::parse(ResultJson(Facts(), Outcome()));
  EXPECT_EQ(result["testAccuracy"], 0.8125);
  EXPECT_EQ(result["validationAccuracy"], 0.75);
  EXPECT_EQ(result["bestEpoch"], 1);
  EXPECT_EQ(result["modelEpoch"], 2);
  EXPECT_EQ(result["learnableRowsDigest"], "0abc");
  EXPECT_EQ(result["lossPerEpoch"], (std::vector<double>{2, 1}));
  EXPECT_EQ(result["lossPerStep"], (std::vector<double>{2.5, 1.5}));
  EXPECT_EQ(result["secondsPerEpoch"], (std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(result["validationAccuracyPerEpoch"][0].is_null());
  EXPECT_EQ(result["parametersDigest"], "abc");
  EXPECT_EQ(result["graph"], "cora");
  EXPECT_EQ(result["partitions"], 2);
  EXPECT_EQ(result["trainers"], 3);
  EXPECT_EQ(result["threads"], 1);
  EXPECT_EQ(result["precision"], "F32");
  EXPECT_EQ(result["blasKernel"], "Haswell");
}

TEST(OutputsTest, ResultNamesFilesThatCouldNotBeWritten) {
  const auto result = nlohmann::json::parse(ResultJson(Facts(), Outcome(), {{"embeddings", "one layer"}}));
  EXPECT_EQ(result["notWritten"]["embeddings"], "one layer");
  EXPECT_FALSE(nlohmann::json::parse(ResultJson(Facts(), Outcome())).contains("notWritten"));
}

// The same tests with a store whose files can be read while they grow, and with one whose objects appear as a whole.
struct Place {
  const char* name;
  std::function<std::shared_ptr<storage::ObjectStore>(const std::string& folder)> make;
};

class OutputsInStoreTest : public testing::TestWithParam<Place> {
 protected:
  storage::StoreLocation At(const std::string& prefix) { return {store_, prefix}; }
  std::string Text(const std::string& key) {
    const Result<std::string> text = store_->Get(key);
    return text.ok() ? *text : text.status().ToString();
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    const std::vector<storage::ObjectInfo> objects = *store_->List("");
    for (const storage::ObjectInfo& object : objects) keys.push_back(object.key);
    return keys;
  }

  storage::TemporaryFolder folder_;
  std::shared_ptr<storage::ObjectStore> store_ = GetParam().make(folder_.path());
};

TEST_P(OutputsInStoreTest, CommitsModelHistoryAndResult) {
  const auto outputs = Outputs::Open(At("jobs/cora"), Facts());
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  const torch::Tensor weight = torch::arange(6, torch::kFloat).reshape({2, 3});
  for (const EpochReport& epoch : Outcome().loop.epochs) ASSERT_TRUE((*outputs)->AppendEpoch(epoch).ok());
  ASSERT_TRUE((*outputs)->WriteModel("best", {{"layer0.weight", weight}}).ok());
  EXPECT_EQ(format::ReadOutputsManifest(*store_, "jobs/cora").status().code(), StatusCode::kNotFound);
  const Status committed = (*outputs)->Commit(Outcome());
  ASSERT_TRUE(committed.ok()) << committed.ToString();

  auto bytes = std::make_shared<std::string>(Text("jobs/cora/results/000001/model/best.safetensors"));
  const auto model = format::ReadSafetensors(std::as_bytes(std::span<const char>(*bytes)), bytes);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->metadata.at("model"), "GraphSAGE");
  EXPECT_EQ(model->metadata.at("layers"), "2");
  EXPECT_EQ(model->tensors.at("layer0.weight").shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(model->tensors.at("layer0.weight").values<float>()[5], 5.0f);

  std::istringstream metrics(Text("jobs/cora/results/000001/metrics.jsonl"));
  std::string line;
  std::getline(metrics, line);
  EXPECT_EQ(nlohmann::json::parse(line)["loss"], 2.0);
  std::getline(metrics, line);
  EXPECT_EQ(nlohmann::json::parse(line)["validationAccuracy"], 0.75);

  const auto manifest = format::ReadOutputsManifest(*store_, "jobs/cora");
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  std::vector<std::string> names;
  for (const format::OutputFile& file : manifest->files) names.push_back(file.file.key);
  EXPECT_THAT(names, ElementsAre("results/000001/metrics.jsonl", "results/000001/model/best.safetensors",
                                 "results/000001/tensorboard/events.out.tfevents.0000000001.espalier"));
  EXPECT_TRUE(format::VerifyOutputs(*store_, "jobs/cora", *manifest)->ok());
  EXPECT_EQ(Text("jobs/cora/result.json"), ResultJson(Facts(), Outcome()));
  EXPECT_EQ(manifest->result_json, ResultJson(Facts(), Outcome()));
}

TEST_P(OutputsInStoreTest, ShowsTheHistoryAfterAFlush) {
  const auto outputs = Outputs::Open(At(""), Facts());
  ASSERT_TRUE(outputs.ok());
  ASSERT_TRUE((*outputs)->AppendEpoch(Outcome().loop.epochs[0]).ok());
  ASSERT_TRUE((*outputs)->Flush().ok());
  EXPECT_THAT(Text("results/000001/metrics.jsonl"), HasSubstr("\"loss\":2.0"));
}

TEST_P(OutputsInStoreTest, ReplacesOutputsOfOlderIncarnation) {
  for (const uint64_t incarnation : {1u, 2u}) {
    RunFacts facts = Facts();
    facts.incarnation = incarnation;
    const auto outputs = Outputs::Open(At(""), facts);
    ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
    // Committed outputs stay until newer ones are committed.
    EXPECT_EQ(store_->Head("manifest.json").ok(), incarnation == 2);
    ASSERT_TRUE((*outputs)->Commit(Outcome()).ok());
  }
  EXPECT_EQ(format::ReadOutputsManifest(*store_, "")->incarnation, 2u);
  EXPECT_THAT(Keys(), Each(Not(HasSubstr("results/000001"))));

  const Status late = Outputs::Open(At(""), Facts()).status();
  EXPECT_EQ(late.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(late.message(), HasSubstr("incarnation 2 has committed"));
}

TEST_P(OutputsInStoreTest, RemovesEarlierRunOfSameIncarnation) {
  const auto first = Outputs::Open(At(""), Facts());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE((*first)->WriteTorchScript("best", "archive").ok());
  ASSERT_TRUE((*first)->Commit(Outcome()).ok());
  ASSERT_TRUE(Outputs::Open(At(""), Facts()).ok());
  EXPECT_THAT(Keys(), ElementsAre("results/000001/metrics.jsonl",
                                  "results/000001/tensorboard/events.out.tfevents.0000000001.espalier"));
}

TEST_P(OutputsInStoreTest, CommitsAllOrNothingWhereverAWriteFails) {
  bool committed = false;
  for (int64_t n = 0; n < 40 && !committed; ++n) {
    storage::FaultyStore faulty(*store_, n);
    const std::shared_ptr<storage::ObjectStore> store(std::shared_ptr<void>(), &faulty);
    const std::string prefix = "n" + std::to_string(n);
    const auto outputs = Outputs::Open({store, prefix}, Facts());
    committed = outputs.ok() && (*outputs)->WriteModel("best", {{"w", torch::zeros({2})}}).ok() &&
                (*outputs)->Commit(Outcome()).ok();
    const auto manifest = format::ReadOutputsManifest(*store_, prefix);
    EXPECT_TRUE(manifest.ok() || !committed) << n;
    if (!manifest.ok()) continue;
    const auto report = format::VerifyOutputs(*store_, prefix, *manifest);
    EXPECT_TRUE(report.ok() && report->ok()) << n;
  }
  EXPECT_TRUE(committed);
}

INSTANTIATE_TEST_SUITE_P(
    Stores, OutputsInStoreTest,
    testing::Values(Place{"Memory", [](const std::string&) { return std::make_shared<storage::MemoryStore>(); }},
                    Place{"File",
                          [](const std::string& folder) { return std::make_shared<storage::FileStore>(folder); }}),
    [](const testing::TestParamInfo<Place>& place) { return std::string(place.param.name); });

TEST(OutputsTest, RecordsDigestOfModuleWithoutUnusedOptions) {
  RunFacts facts = Facts();
  EXPECT_FALSE(nlohmann::json::parse(ResultJson(facts, Outcome())).contains("moduleSha256"));
  facts.job.training.model.type = job::ModelType::kTorchScript;
  facts.module_sha256 = "abcd";
  EXPECT_EQ(nlohmann::json::parse(ResultJson(facts, Outcome())).at("moduleSha256"), "abcd");
  const auto metadata = ModelMetadata(facts);
  EXPECT_EQ(metadata.at("moduleSha256"), "abcd");
  EXPECT_FALSE(metadata.contains("hiddenSize"));
  EXPECT_FALSE(metadata.contains("aggregator"));
}

TEST(OutputsTest, NamesInvalidFolder) {
  const storage::TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "a file";
  const Status status = Outputs::Open(*storage::OpenStore(file), Facts()).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(file));
}

}  // namespace
}  // namespace espalier::trainer
