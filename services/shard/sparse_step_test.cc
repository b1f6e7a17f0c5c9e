// Every optimizer over many steps, compared with a simple model in double precision that keeps its rows in a map.
#include "services/shard/sparse_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "services/base/philox.h"

namespace espalier::shard {
namespace {

using sampler::DuplicateGradients;
using sampler::SparseOptimizer;
using sampler::SparseOptimizerType;

constexpr SparseOptimizerType kAllTypes[] = {SparseOptimizerType::kSgd, SparseOptimizerType::kAdagrad,
                                             SparseOptimizerType::kRowWiseAdagrad, SparseOptimizerType::kAdam,
                                             SparseOptimizerType::kAdamW};

// The gradients that one rank sends.
struct Sent {
  std::vector<LocalRowId> rows;
  std::vector<float> gradients;
  RowGradients view() const { return {rows, gradients.data()}; }
};

Sent RandomGradients(uint64_t seed, uint64_t num_rows, size_t count, size_t width) {
  PhiloxStream random(seed, 0);
  Sent sent;
  for (size_t i = 0; i < count; ++i) sent.rows.emplace_back(random.NextBelow(static_cast<uint32_t>(num_rows)));
  for (size_t i = 0; i < count * width; ++i) sent.gradients.push_back(random.NextUnitFloat() - 0.5f);
  return sent;
}

std::vector<RowGradients> Views(const std::vector<Sent>& sent) {
  std::vector<RowGradients> views;
  for (const Sent& of_rank : sent) views.push_back(of_rank.view());
  return views;
}

// A table that owns its memory; the state of a row follows its weights. An initial weight is 0.01 times (row + column).
struct Table {
  Table(const SparseOptimizer& optimizer, uint64_t num_rows, size_t width)
      : record_width(width + StateWidth(optimizer.type, width)) {
    for (uint64_t row = 0; row < num_rows; ++row) {
      for (size_t i = 0; i < record_width; ++i) {
        values.push_back(i < width ? 0.01f * static_cast<float>(row + i) : InitialState(optimizer));
      }
    }
    rows = {.num_rows = num_rows,
            .width = width,
            .state_width = record_width - width,
            .weights = {values.data(), record_width},
            .state = {values.data() + width, record_width}};
  }
  const size_t record_width;
  std::vector<float> values;
  LearnableTable rows;
};

// A model of the same rows, which updates one element at a time in double precision.
class ModelOfRows {
 public:
  ModelOfRows(const SparseOptimizer& optimizer, size_t width) : o_(optimizer), width_(width) {}

  struct Row {
    std::vector<double> w, s, v;
  };
  Row& FindOrAddRow(uint32_t row) {
    auto [entry, is_new] = rows_.try_emplace(row);
    if (is_new) {
      for (size_t i = 0; i < width_; ++i) entry->second.w.push_back(0.01f * static_cast<float>(row + i));
      const bool is_adam = o_.type == SparseOptimizerType::kAdam || o_.type == SparseOptimizerType::kAdamW;
      entry->second.s.assign(width_, is_adam ? 0 : o_.initial_accumulator);
      entry->second.v.assign(width_, 0);
    }
    return entry->second;
  }

  void Step(const std::vector<Sent>& sent, double rate) {
    ++step_;
    std::map<uint32_t, std::vector<double>> sums;
    std::map<uint32_t, int> counts;
    for (const Sent& of_rank : sent) {
      for (size_t k = 0; k < of_rank.rows.size(); ++k) {
        std::vector<double>& sum = sums[of_rank.rows[k].value];
        sum.resize(width_);
        for (size_t i = 0; i < width_; ++i) sum[i] += of_rank.gradients[k * width_ + i];
        ++counts[of_rank.rows[k].value];
      }
    }
    for (auto& [row, sum] : sums) {
      for (double& g : sum) g /= o_.duplicates == DuplicateGradients::kMean ? counts[row] : 1;
      Update(FindOrAddRow(row), sum, rate);
    }
  }

 private:
  void Update(Row& row, std::vector<double> g, double rate) {
    const bool adamw = o_.type == SparseOptimizerType::kAdamW;
    double mean_square = 0;
    for (size_t i = 0; i < width_; ++i) {
      if (!adamw) g[i] += o_.weight_decay * row.w[i];
      mean_square += g[i] * g[i] / static_cast<double>(width_);
    }
    for (size_t i = 0; i < width_; ++i) {
      switch (o_.type) {
        case SparseOptimizerType::kSgd: row.w[i] -= rate * g[i]; break;
        case SparseOptimizerType::kAdagrad:
          row.s[i] += g[i] * g[i];
          row.w[i] -= rate * g[i] / (std::sqrt(row.s[i]) + EpsilonFor(o_));
          break;
        case SparseOptimizerType::kRowWiseAdagrad:
          row.s[i] += mean_square;  // each element keeps its own copy of the row's sum
          row.w[i] -= rate * g[i] / (std::sqrt(row.s[i]) + EpsilonFor(o_));
          break;
        case SparseOptimizerType::kAdam:
        case SparseOptimizerType::kAdamW: {
          if (adamw) row.w[i] -= rate * o_.weight_decay * row.w[i];
          row.s[i] = o_.beta1 * row.s[i] + (1 - o_.beta1) * g[i];
          row.v[i] = o_.beta2 * row.v[i] + (1 - o_.beta2) * g[i] * g[i];
          const double m = row.s[i] / (1 - std::pow(o_.beta1, step_)), v = row.v[i] / (1 - std::pow(o_.beta2, step_));
          row.w[i] -= rate * m / (std::sqrt(v) + EpsilonFor(o_));
        }
      }
    }
  }

  const SparseOptimizer o_;
  const size_t width_;
  int step_ = 0;
  std::map<uint32_t, Row> rows_;
};

void ExpectFollowsTheModel(const SparseOptimizer& optimizer, size_t width) {
  constexpr uint64_t kRows = 3000;  // more than one digit of the radix sort
  Table table(optimizer, kRows, width);
  ModelOfRows model(optimizer, width);
  SparseStep apply;
  for (uint64_t step = 1; step <= 12; ++step) {
    const double rate = 0.1 / static_cast<double>(step);
    // Rank 1 has no gradients in some steps; many rows repeat within a rank and across ranks.
    const std::vector<Sent> sent = {RandomGradients(3 * step, kRows, 400, width),
                                    RandomGradients(3 * step + 1, kRows, step % 3 == 0 ? 0 : 40, width),
                                    RandomGradients(3 * step + 2, 50, 200, width)};
    apply.Apply(RowUpdate(optimizer, width, rate, step), optimizer.duplicates, table.rows, Views(sent));
    model.Step(sent, rate);
  }
  for (uint32_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < width; ++i) {
      ASSERT_NEAR(table.rows.weights.row(row)[i], model.FindOrAddRow(row).w[i], 2e-5)
          << "type " << static_cast<int>(optimizer.type) << ", row " << row << ", column " << i;
    }
  }
}

TEST(SparseStepTest, MatchesReferenceForEveryOptimizer) {
  for (const SparseOptimizerType type : kAllTypes) {
    for (const size_t width : {1, 7, 16}) {
      ExpectFollowsTheModel({.type = type, .epsilon = 1e-8}, width);
    }
  }
}

TEST(SparseStepTest, MatchesReferenceWithDecayMeansAndInitialAccumulator) {
  for (const SparseOptimizerType type : kAllTypes) {
    ExpectFollowsTheModel({.type = type,
                           .duplicates = DuplicateGradients::kMean,
                           .weight_decay = 0.05,
                           .epsilon = 1e-8,
                           .initial_accumulator = 0.1,
                           .beta1 = 0.8,
                           .beta2 = 0.95},
                          5);
  }
}

TEST(SparseStepTest, RowsWithoutGradientAreUnchanged) {
  for (const SparseOptimizerType type : kAllTypes) {
    Table table({.type = type, .weight_decay = 0.1}, 10, 4);
    const std::vector<float> before = table.values;
    SparseStep apply;
    const std::vector<Sent> sent = {{{LocalRowId(3)}, {1, 2, 3, 4}}, {}};
    const RowUpdate update({.type = type, .weight_decay = 0.1}, 4, 0.1, 1);
    EXPECT_EQ(apply.Apply(update, DuplicateGradients::kSum, table.rows, Views(sent)), 1u);
    for (size_t i = 0; i < before.size(); ++i) {
      if (i / table.record_width != 3) {
        EXPECT_EQ(table.values[i], before[i]) << i;
      } else if (i % table.record_width < 4) {
        EXPECT_NE(table.values[i], before[i]) << i;
      }
    }
  }
}

// Float addition is not associative: 1e8 - 1e8 + 1 is 1, 1 + 1e8 - 1e8 is 0.
TEST(SparseStepTest, AddsInTheOrderOfRanksAndPositions) {
  const auto weight_after = [](const std::vector<Sent>& sent) {
    Table table({.type = SparseOptimizerType::kSgd}, 1, 1);
    SparseStep apply;
    apply.Apply(RowUpdate({.type = SparseOptimizerType::kSgd}, 1, 1.0, 1), DuplicateGradients::kSum, table.rows,
                Views(sent));
    return table.values[0];
  };
  const LocalRowId row(0);
  EXPECT_EQ(weight_after({{{row, row, row}, {1e8f, -1e8f, 1}}}), -1);
  EXPECT_EQ(weight_after({{{row, row, row}, {1, 1e8f, -1e8f}}}), 0);
  EXPECT_EQ(weight_after({{{row}, {1e8f}}, {}, {{row, row}, {-1e8f, 1}}}), -1);
  EXPECT_EQ(weight_after({{{row}, {1}}, {{row}, {1e8f}}, {{row}, {-1e8f}}}), 0);
}

TEST(SparseStepTest, ReadersOfHalfRowsGetTheMasterRounded) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const SparseOptimizer optimizer{.type = SparseOptimizerType::kSgd};
    Table table(optimizer, 4, 2);
    std::vector<uint16_t> rounded(8, 0);
    table.rows.rounded = rounded.data();
    table.rows.rounded_dtype = dtype;
    SparseStep apply;
    const std::vector<Sent> sent = {{{LocalRowId(2)}, {-1e-4f, -1}}};
    for (uint64_t step = 1; step <= 100; ++step) {
      apply.Apply(RowUpdate(optimizer, 2, 0.01, step), DuplicateGradients::kSum, table.rows, Views(sent));
    }
    // 100 steps of 1e-6, each far below the resolution of the half-precision row at 0.02: the F32 weights contain all
    // of them.
    EXPECT_NEAR(table.rows.weights.row(2)[0], 0.02 + 1e-4, 1e-7);
    const auto widened = [&](size_t i) {
      return dtype == DType::kF16 ? HalfToFloat(rounded[i]) : BFloat16ToFloat(rounded[i]);
    };
    EXPECT_NEAR(widened(4), 0.0201, 0.0201 / 256);
    EXPECT_NEAR(widened(5), 1.03, 1.03 / 256);
    EXPECT_EQ(rounded[0], 0) << "no gradient, not written";
  }
}

TEST(SparseOptimizerTest, RefusesNumbersOutOfRange) {
  EXPECT_TRUE(sampler::CheckSparseOptimizer({}).ok());
  EXPECT_THAT(sampler::CheckSparseOptimizer({.epsilon = 0}).message(), ::testing::HasSubstr("epsilon"));
  EXPECT_THAT(sampler::CheckSparseOptimizer({.weight_decay = -1}).message(), ::testing::HasSubstr("weight decay"));
  EXPECT_THAT(sampler::CheckSparseOptimizer({.beta2 = 1}).message(), ::testing::HasSubstr("beta2"));
  EXPECT_THAT(sampler::CheckSparseOptimizer({.beta1 = std::nan("")}).message(), ::testing::HasSubstr("beta1"));
  EXPECT_FALSE(sampler::CheckSparseOptimizer({.type = static_cast<SparseOptimizerType>(6)}).ok());
  EXPECT_FALSE(sampler::CheckSparseOptimizer({.duplicates = static_cast<DuplicateGradients>(0)}).ok());
}

}  // namespace
}  // namespace espalier::shard
