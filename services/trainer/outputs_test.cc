#include "services/trainer/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/format/safetensors.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

std::string NewFolder() {
  const std::string dir =
      testing::TempDir() + "/outputs-" + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(dir);
  return dir;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
  outcome.test = 0.8125;
  outcome.validation = 0.75;
  outcome.parameters_digest = "abc";
  return outcome;
}

TEST(OutputsTest, NamesResultsAfterTheMetric) {
  EXPECT_EQ(ResultKey("test", job::Metric::kAccuracy), "testAccuracy");
  EXPECT_EQ(ResultKey("validation", job::Metric::kMeanSquaredError), "validationMeanSquaredError");
}

TEST(OutputsTest, SaysWhatARunCameTo) {
  const auto result = nlohmann::json::parse(ResultJson(Facts(), Outcome()));
  EXPECT_EQ(result["testAccuracy"], 0.8125);
  EXPECT_EQ(result["validationAccuracy"], 0.75);
  EXPECT_EQ(result["bestEpoch"], 1);
  EXPECT_EQ(result["lossPerEpoch"], (std::vector<double>{2, 1}));
  EXPECT_EQ(result["lossPerStep"], (std::vector<double>{2.5, 1.5}));
  EXPECT_EQ(result["secondsPerEpoch"], (std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(result["validationAccuracyPerEpoch"][0].is_null());
  EXPECT_EQ(result["parametersDigest"], "abc");
  EXPECT_EQ(result["graph"], "cora");
  EXPECT_EQ(result["partitions"], 2);
  EXPECT_EQ(result["trainers"], 3);
  EXPECT_EQ(result["threads"], 1);
  EXPECT_EQ(result["blasKernel"], "Haswell");
}

TEST(OutputsTest, WritesFilesBelowItsFolder) {
  const std::string dir = NewFolder();
  const auto outputs = Outputs::Open(dir, Facts());
  ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
  const torch::Tensor weight = torch::arange(6, torch::kFloat).reshape({2, 3});
  ASSERT_TRUE((*outputs)->WriteModel("best", {{"layer0.weight", weight}}).ok());
  for (const EpochReport& epoch : Outcome().loop.epochs) ASSERT_TRUE((*outputs)->AppendEpoch(epoch).ok());
  ASSERT_TRUE((*outputs)->WriteResult(Outcome()).ok());

  auto bytes = std::make_shared<std::string>(ReadText(dir + "/model/best.safetensors"));
  const auto model = format::ReadSafetensors(std::as_bytes(std::span<const char>(*bytes)), bytes);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->metadata.at("model"), "GraphSAGE");
  EXPECT_EQ(model->metadata.at("layers"), "2");
  EXPECT_EQ(model->tensors.at("layer0.weight").shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(model->tensors.at("layer0.weight").values<float>()[5], 5.0f);

  std::ifstream metrics(dir + "/metrics.jsonl");
  std::string line;
  std::getline(metrics, line);
  EXPECT_EQ(nlohmann::json::parse(line)["loss"], 2.0);
  std::getline(metrics, line);
  EXPECT_EQ(nlohmann::json::parse(line)["validationAccuracy"], 0.75);
  EXPECT_EQ(ReadText(dir + "/result.json"), ResultJson(Facts(), Outcome()));
}

TEST(OutputsTest, LeavesNoResultOfAnEarlierRun) {
  const std::string dir = NewFolder();
  ASSERT_TRUE((*Outputs::Open(dir, Facts()))->WriteResult(Outcome()).ok());
  ASSERT_TRUE(Outputs::Open(dir, Facts()).ok());
  EXPECT_FALSE(std::filesystem::exists(dir + "/result.json"));
}

TEST(OutputsTest, NamesAFolderThatCannotBe) {
  const std::string file = NewFolder();
  std::ofstream(file) << "a file";
  const Status status = Outputs::Open(file, Facts()).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(file));
}

}  // namespace
}  // namespace espalier::trainer
