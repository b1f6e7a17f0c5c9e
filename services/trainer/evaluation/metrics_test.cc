#include "services/trainer/evaluation/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "services/collective/in_process_collective.h"
#include "services/trainer/ops/losses.h"
#include "services/trainer/testing/gradients.h"

namespace espalier::trainer {
namespace {

double FindValue(job::Metric metric, const torch::Tensor& outputs, const torch::Tensor& labels) {
  MetricAccumulator accumulator(metric, outputs.size(1));
  accumulator.Add(0, outputs, labels);
  const Result<double> value = accumulator.Value();
  EXPECT_TRUE(value.ok()) << value.status().ToString();
  return value.ok() ? *value : NAN;
}

// Outputs that predict the classes 0 2 1 1, where 0 2 2 1 are correct. The last row has no label.
const torch::Tensor& FourPredictions() {
  static const torch::Tensor outputs =
      torch::tensor({{3.f, 1.f, 0.f}, {0.f, 1.f, 2.f}, {0.f, 2.f, 1.f}, {-3.f, -1.f, -2.f}, {9.f, 0.f, 0.f}});
  return outputs;
}
const torch::Tensor& FourClasses() {
  static const torch::Tensor classes = torch::tensor({0, 2, 2, 1, -1}, torch::kInt64);
  return classes;
}

TEST(MetricsTest, AccuracyIgnoresUnlabeled) {
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kAccuracy, FourPredictions(), FourClasses()), 0.75);
}
TEST(MetricsTest, MacroF1IsTheMeanOverClasses) {
  // F1: class 0: 1, class 1: 2 / (2 + 1), class 2: 2 / (1 + 2)
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kMacroF1, FourPredictions(), FourClasses()), (1 + 2.0 / 3 + 2.0 / 3) / 3);
}
TEST(MetricsTest, MicroF1OfOneLabelEachIsAccuracy) {
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kMicroF1, FourPredictions(), FourClasses()), 0.75);
}
TEST(MetricsTest, MultiLabelCountsEntries) {
  const torch::Tensor outputs = torch::tensor({{1.f, -1.f}, {1.f, 1.f}}),
                      labels = torch::tensor({{1.f, 1.f}, {0.f, NAN}});
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kAccuracy, outputs, labels), 1.0 / 3);
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kMicroF1, outputs, labels), 2.0 / 4);
}
TEST(MetricsTest, ErrorsAreMeansOverLabeledEntries) {
  const torch::Tensor outputs = torch::tensor({{1.f}, {2.f}, {5.f}}), targets = torch::tensor({3.f, NAN, 4.f});
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kMeanSquaredError, outputs, targets), 2.5);
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kMeanAbsoluteError, outputs, targets), 1.5);
}

TEST(MetricsTest, RocAucIsFractionOfOrderedPairs) {
  // Rounded scores, so that there are many ties.
  const torch::Tensor outputs = torch::round(RandomMatrix(1, 200, 3) * 10),
                      labels = (RandomMatrix(2, 200, 3) > 0.3).to(torch::kFloat32);
  double expected = 0;
  for (int64_t c = 0; c < 3; ++c) {
    double won = 0, pairs = 0;
    for (int64_t i = 0; i < 200; ++i) {
      for (int64_t j = 0; j < 200; ++j) {
        if (labels[i][c].item<float>() != 1 || labels[j][c].item<float>() != 0) continue;
        const float a = outputs[i][c].item<float>(), b = outputs[j][c].item<float>();
        won += a > b ? 1.0 : a == b ? 0.5 : 0.0;
        ++pairs;
      }
    }
    expected += won / pairs / 3;
  }
  EXPECT_NEAR(FindValue(job::Metric::kRocAuc, outputs, labels), expected, 1e-12);
}

// For multi-label targets, metrics must be the same as for lists from which the unlabeled entries were removed.
TEST(MetricsTest, MetricsIgnoreUnknownTargets) {
  const int64_t rows = 60, classes = 3;
  const torch::Tensor outputs = RandomMatrix(5, rows, classes);
  torch::Tensor labels = (RandomMatrix(6, rows, classes) > 0).to(torch::kFloat32);
  labels.masked_fill_(RandomMatrix(7, rows, classes) > 0.5, NAN);
  double right = 0, known = 0, hits = 0, calls = 0, macro = 0, area = 0;
  for (int64_t c = 0; c < classes; ++c) {
    std::vector<std::pair<float, bool>> entries;
    for (int64_t i = 0; i < rows; ++i) {
      const float label = labels[i][c].item<float>();
      if (label == label) entries.emplace_back(outputs[i][c].item<float>(), label == 1);
    }
    ASSERT_LT(entries.size(), static_cast<size_t>(rows));
    double class_hits = 0, class_calls = 0, won = 0, pairs = 0;
    for (const auto& [score, truth] : entries) {
      ++known;
      right += (score > 0) == truth;
      class_hits += score > 0 && truth;
      class_calls += (score > 0) + truth;
      for (const auto& [other, other_truth] : entries) {
        if (!truth || other_truth) continue;
        ++pairs;
        won += score > other;
      }
    }
    hits += class_hits;
    calls += class_calls;
    macro += 2 * class_hits / class_calls / static_cast<double>(classes);
    area += won / pairs / static_cast<double>(classes);
  }
  EXPECT_NEAR(FindValue(job::Metric::kAccuracy, outputs, labels), right / known, 1e-12);
  EXPECT_NEAR(FindValue(job::Metric::kMicroF1, outputs, labels), 2 * hits / calls, 1e-12);
  EXPECT_NEAR(FindValue(job::Metric::kMacroF1, outputs, labels), macro, 1e-12);
  EXPECT_NEAR(FindValue(job::Metric::kRocAuc, outputs, labels), area, 1e-12);
}

TEST(MetricsTest, RocAucOfTwoClassesRanksTheirDifference) {
  const torch::Tensor outputs = torch::tensor({{0.f, 2.f}, {5.f, 6.f}, {1.f, 1.5f}, {0.f, -1.f}});
  EXPECT_DOUBLE_EQ(FindValue(job::Metric::kRocAuc, outputs, torch::tensor({1, 0, 1, 0}, torch::kInt64)), 0.75);
}

TEST(MetricsTest, NothingLabeledIsAnError) {
  MetricAccumulator accumulator(job::Metric::kAccuracy, 2);
  accumulator.Add(0, torch::ones({1, 2}), torch::tensor({-1}, torch::kInt64));
  EXPECT_EQ(accumulator.Value().status().code(), StatusCode::kFailedPrecondition);
}

TEST(MetricsTest, NanOutputsAreError) {
  const torch::Tensor outputs = torch::tensor({{0.f, NAN}, {1.f, 2.f}});
  MetricAccumulator curve(job::Metric::kRocAuc, 2);
  curve.Add(0, outputs, torch::tensor({1, 0}, torch::kInt64));
  EXPECT_EQ(curve.Value().status().code(), StatusCode::kInvalidArgument);
  MetricAccumulator error(job::Metric::kMeanSquaredError, 2);
  error.Add(0, outputs, torch::zeros({2, 2}));
  EXPECT_EQ(error.Value().status().code(), StatusCode::kInvalidArgument);
}

TEST(MetricsTest, ErrorOfInfiniteOutputIsError) {
  for (const auto metric : {job::Metric::kMeanSquaredError, job::Metric::kMeanAbsoluteError}) {
    MetricAccumulator error(metric, 1);
    error.Add(0, torch::tensor({{1.f}, {INFINITY}}), torch::zeros({2, 1}));
    EXPECT_EQ(error.Value().status().code(), StatusCode::kInvalidArgument);
  }
}

// Ranks whose own outputs are numbers return the error too. Outputs of unlabeled rows and entries may be NaN.
TEST(MetricsTest, DecisionsOnNanOutputsAreError) {
  const torch::Tensor outputs = torch::tensor({{1.f, NAN}, {1.f, 2.f}});
  const torch::Tensor of_nan[] = {torch::tensor({0, 1}, torch::kInt64), torch::tensor({{1.f, 0.f}, {1.f, 1.f}})};
  const torch::Tensor of_numbers[] = {torch::tensor({-1, 1}, torch::kInt64), torch::tensor({{1.f, NAN}, {1.f, 1.f}})};
  for (const auto metric : {job::Metric::kAccuracy, job::Metric::kMicroF1, job::Metric::kMacroF1}) {
    SCOPED_TRACE(trainer::ToString(metric));
    for (const size_t kind : {0u, 1u}) {
      EXPECT_DOUBLE_EQ(FindValue(metric, outputs, of_numbers[kind]), 1.0);
      const auto group = collective::MakeInProcessGroup(2);
      std::vector<StatusCode> codes(2);
      {
        std::vector<std::jthread> ranks;
        for (uint64_t rank = 0; rank < 2; ++rank) {
          ranks.emplace_back([&, rank] {
            MetricAccumulator mine(metric, 2);
            mine.Add(rank, outputs, rank == 1 ? of_nan[kind] : of_numbers[kind]);
            EXPECT_TRUE(mine.MergeOverRanks(*group[rank], Deadline::After(std::chrono::seconds(60))).ok());
            codes[rank] = mine.Value().status().code();
          });
        }
      }
      EXPECT_EQ(codes, std::vector(2, StatusCode::kInvalidArgument));
    }
  }
}

TEST(MetricsTest, AlternateChunksOnRanksGiveSameBits) {
  const torch::Tensor outputs = RandomMatrix(3, 1000, 2), targets = RandomMatrix(4, 1000, 2);
  const torch::Tensor classes = (RandomMatrix(5, 1000, 1) > 0).to(torch::kInt64).view(-1);
  for (const auto metric : {job::Metric::kMeanSquaredError, job::Metric::kMeanAbsoluteError, job::Metric::kAccuracy,
                            job::Metric::kMacroF1, job::Metric::kRocAuc}) {
    const torch::Tensor& labels = HigherIsBetter(metric) ? classes : targets;
    const auto add = [&](MetricAccumulator& to, uint64_t chunk) {
      const auto first = static_cast<int64_t>(chunk) * 100;
      to.Add(chunk, outputs.slice(0, first, first + 100), labels.slice(0, first, first + 100));
    };
    MetricAccumulator alone(metric, 2);
    for (uint64_t chunk = 0; chunk < 10; ++chunk) add(alone, chunk);

    const auto group = collective::MakeInProcessGroup(3);
    std::vector<double> values(3);
    {
      std::vector<std::jthread> ranks;
      for (uint64_t rank = 0; rank < 3; ++rank) {
        ranks.emplace_back([&, rank] {
          MetricAccumulator mine(metric, 2);
          for (uint64_t chunk = rank; chunk < 10; chunk += 3) add(mine, chunk);
          EXPECT_TRUE(mine.MergeOverRanks(*group[rank], Deadline::After(std::chrono::seconds(60))).ok());
          values[rank] = *mine.Value();
        });
      }
    }
    for (const double value : values) EXPECT_EQ(value, *alone.Value()) << trainer::ToString(metric);
  }
}

TEST(LossTest, CrossEntropyMatchesTorchMeanOverGlobalBatch) {
  torch::Tensor outputs = RandomMatrix(1, 6, 4).requires_grad_();
  const torch::Tensor labels = torch::tensor({0, 3, 1, 2, 2, 0}, torch::kInt64);
  const torch::Tensor shares = Loss(LossKind::kCrossEntropy, outputs.slice(0, 0, 4), labels.slice(0, 0, 4), 6) +
                               Loss(LossKind::kCrossEntropy, outputs.slice(0, 4, 6), labels.slice(0, 4, 6), 6);
  EXPECT_NEAR(shares.item<double>(), torch::cross_entropy_loss(outputs, labels).item<double>(), 1e-6);
}

TEST(LossTest, BinaryCrossEntropyAndSquaredErrorMatchTorch) {
  const torch::Tensor outputs = RandomMatrix(1, 6, 4) * 3, zero_one = (RandomMatrix(2, 6, 4) > 0).to(torch::kFloat32);
  EXPECT_NEAR(Loss(LossKind::kBinaryCrossEntropy, outputs, zero_one, 6).item<double>(),
              torch::binary_cross_entropy_with_logits(outputs, zero_one).item<double>(), 1e-6);
  EXPECT_NEAR(Loss(LossKind::kSquaredError, outputs, zero_one, 6).item<double>(),
              torch::mse_loss(outputs, zero_one).item<double>(), 1e-6);
}

TEST(LossTest, UnlabeledRowsGetNoGradient) {
  for (const auto kind : {LossKind::kCrossEntropy, LossKind::kBinaryCrossEntropy, LossKind::kSquaredError}) {
    torch::Tensor outputs = RandomMatrix(1, 2, 1).requires_grad_();
    if (kind == LossKind::kCrossEntropy) outputs = RandomMatrix(1, 2, 3).requires_grad_();
    const torch::Tensor labels =
        kind == LossKind::kCrossEntropy ? torch::tensor({-1, 1}, torch::kInt64) : torch::tensor({{NAN}, {1.f}});
    Loss(kind, outputs, labels, 2).backward();
    EXPECT_EQ(outputs.grad()[0].abs().sum().item<float>(), 0.0f);
    EXPECT_GT(outputs.grad()[1].abs().sum().item<float>(), 0.0f);
  }
}

// Outputs for unlabeled entries affect neither the loss nor the gradients.
TEST(LossTest, UnknownEntriesHaveNoWeight) {
  for (const auto kind : {LossKind::kBinaryCrossEntropy, LossKind::kSquaredError}) {
    const torch::Tensor known = RandomMatrix(3, 5, 4) > 0;
    const torch::Tensor targets = (RandomMatrix(4, 5, 4) > 0).to(torch::kFloat32);
    torch::Tensor labels = targets.clone().masked_fill_(~known, NAN);
    torch::Tensor outputs = RandomMatrix(1, 5, 4).requires_grad_();
    const torch::Tensor loss = Loss(kind, outputs, labels, 5);
    loss.backward();
    double expected = 0;
    for (int64_t i = 0; i < 20; ++i) {
      if (!known.reshape({-1})[i].item<bool>()) continue;
      const double x = outputs.reshape({-1})[i].item<double>(), y = targets.reshape({-1})[i].item<double>();
      expected += kind == LossKind::kSquaredError ? (x - y) * (x - y) : std::log1p(std::exp(x)) - x * y;
    }
    EXPECT_NEAR(loss.item<double>(), expected / 20, 1e-6);
    EXPECT_EQ(outputs.grad().masked_select(~known).abs().sum().item<float>(), 0.0f);
    EXPECT_GT(outputs.grad().masked_select(known).abs().min().item<float>(), 0.0f);
    const torch::Tensor others = outputs.detach() + 100 * (~known).to(torch::kFloat32);
    EXPECT_EQ(Loss(kind, others, labels, 5).item<float>(), loss.item<float>());
  }
}

TEST(LossTest, GradientsMatchFiniteDifferences) {
  for (const auto kind : {LossKind::kCrossEntropy, LossKind::kBinaryCrossEntropy, LossKind::kSquaredError}) {
    torch::Tensor outputs = RandomMatrix(1, 8, 3).requires_grad_();
    const torch::Tensor labels = kind == LossKind::kCrossEntropy ? torch::arange(8).remainder(3)
                                                                 : (RandomMatrix(2, 8, 3) > 0).to(torch::kFloat32);
    ExpectGradientOfFiniteDifferences("loss", outputs, [&] { return Loss(kind, outputs, labels, 8); });
  }
}

TEST(LossTest, AnEmptyShareIsZeroWithAGradient) {
  torch::Tensor outputs = torch::empty({0, 3}).requires_grad_();
  const torch::Tensor loss = Loss(LossKind::kCrossEntropy, outputs, torch::empty({0}, torch::kInt64), 5);
  loss.backward();
  EXPECT_EQ(loss.item<float>(), 0.0f);
  EXPECT_TRUE(outputs.grad().defined());
}

TEST(CheckLabelsTest, NamesTheFirstBadRow) {
  EXPECT_TRUE(CheckLabels(LossKind::kCrossEntropy, torch::tensor({0, -1, 2}, torch::kInt64), 3).ok());
  EXPECT_NE(
      CheckLabels(LossKind::kCrossEntropy, torch::tensor({0, 3}, torch::kInt64), 3).message().find("row 1 has class 3"),
      std::string::npos);
  EXPECT_NE(CheckLabels(LossKind::kBinaryCrossEntropy, torch::tensor({{0.f, 2.f}}), 2).message().find("row 0"),
            std::string::npos);
  EXPECT_EQ(CheckLabels(LossKind::kSquaredError, torch::tensor({{INFINITY}}), 1).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(CheckLabels(LossKind::kSquaredError, torch::tensor({1.f, NAN}), 1).ok());
}

}  // namespace
}  // namespace espalier::trainer
