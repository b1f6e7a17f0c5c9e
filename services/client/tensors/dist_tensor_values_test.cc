// Values of tensors: initial values, all kinds of writes compared with a model, reductions; in this process and on
// servers, for any partitioning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "services/base/exact_sum.h"
#include "services/base/hash.h"
#include "services/base/philox.h"
#include "services/base/random_purpose.h"
#include "services/client/testing/tensors_everywhere.h"

namespace espalier::client {
namespace {

using ::testing::ElementsAre;
using testing::ListOriginalIds;
using testing::RowRange;

class DistTensorValuesTest : public testing::TensorsEverywhere {};

TEST_P(DistTensorValuesTest, HasTheShapeOfItsRows) {
  const uint64_t sizes[] = {graph_->num_nodes(NodeTypeId(0)), graph_->num_nodes(NodeTypeId(1)),
                            graph_->num_edges(EdgeTypeId(0)), graph_->num_edges(EdgeTypeId(1)), 1001};
  for (size_t i = 0; i < Spaces().size(); ++i) {
    const DistTensor tensor = Make({.rows = Spaces()[i], .row_shape = {2, 3}, .dtype = DType::kI16});
    EXPECT_THAT(tensor.shape(), ElementsAre(static_cast<int64_t>(sizes[i]), 2, 3));
    EXPECT_EQ(tensor.dtype(), DType::kI16);
    EXPECT_TRUE(tensor.made_by_this());
    const Tensor rows = All(tensor);
    EXPECT_EQ(rows.shape(), tensor.shape());
    for (int64_t k = 0; k < rows.num_elements(); ++k) ASSERT_EQ(rows.ValueAsInt(k), 0);
  }
}

// All kinds of writes to random rows, repeated ones if allowed, compared with a model.
TEST_P(DistTensorValuesTest, MatchesReferenceModel) {
  for (const RowSpace& space : Spaces()) {
    DistTensor tensor = Make({.rows = space, .row_shape = {2}, .dtype = DType::kI64});
    std::vector<int64_t> model(tensor.num_rows() * 2);
    PhiloxStream random(5, space.type);
    const auto num_rows = static_cast<uint32_t>(tensor.num_rows());
    for (uint32_t round = 0; round < 40; ++round) {
      std::vector<GlobalRowId> rows(1 + random.NextBelow(300));
      const uint32_t first = random.NextBelow(num_rows);
      for (uint32_t i = 0; i < rows.size(); ++i) {
        rows[i] = GlobalRowId(round % 4 == 0 ? (first + 7 * i) % num_rows : random.NextBelow(num_rows));
      }
      if (round % 4 == 0) {  // distinct rows
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      }
      std::vector<int64_t> values(rows.size() * 2);
      for (int64_t& value : values) value = int64_t{random.NextBelow(2001)} - 1000;
      const Tensor written = Tensor::FromVector(values, {static_cast<int64_t>(rows.size()), 2});
      for (size_t i = 0; i < values.size(); ++i) {
        int64_t& place = model[rows[i / 2].value * 2 + i % 2];
        switch (round % 4) {
          case 0: place = values[i]; break;
          case 1: place += values[i]; break;
          case 2: place = std::min(place, values[i]); break;
          default: place = std::max(place, values[i]);
        }
      }
      const Status status = round % 4 == 0   ? tensor.WriteRows(rows, written)
                            : round % 4 == 1 ? tensor.AddRows(rows, written)
                            : round % 4 == 2 ? tensor.MinRows(rows, written)
                                             : tensor.MaxRows(rows, written);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    const Tensor rows = All(tensor);
    EXPECT_TRUE(std::equal(model.begin(), model.end(), rows.values<int64_t>().begin()));
    const std::vector<GlobalRowId> repeated = {GlobalRowId(3), GlobalRowId(num_rows - 1), GlobalRowId(3)};
    const auto some = tensor.ReadRows(repeated);
    ASSERT_TRUE(some.ok());
    EXPECT_THAT(some->values<int64_t>(),
                ElementsAre(model[6], model[7], model[model.size() - 2], model.back(), model[6], model[7]));
  }
}

TEST_P(DistTensorValuesTest, KeepsEveryDType) {
  const std::vector<GlobalRowId> rows = {GlobalRowId(20), GlobalRowId(0)};
  for (uint8_t number = 1; number <= 13; ++number) {
    const DType dtype = static_cast<DType>(number);
    DistTensor tensor = Make({.rows = RowSpace::Own(21), .dtype = dtype, .initializer = Initializer::Constant(1)});
    // Combines the tensor with itself: 1 + 1, and "true or true".
    const auto ones = tensor.ReadRows(rows);
    ASSERT_TRUE(ones.ok()) << ToString(dtype);
    EXPECT_EQ(ones->ValueAsDouble(1), 1) << ToString(dtype);
    ASSERT_TRUE(tensor.AddRows(rows, *ones).ok()) << ToString(dtype);
    const double twice = dtype == DType::kBool ? 1 : 2;
    EXPECT_EQ(All(tensor).ValueAsDouble(20), twice) << ToString(dtype);
    EXPECT_EQ(tensor.Sum()->ValueAsDouble(0), 19 + 2 * twice) << ToString(dtype);
    EXPECT_EQ(*tensor.CountNonzero(), 21u) << ToString(dtype);
  }
}

TEST_P(DistTensorValuesTest, FirstValuesDoNotDependOnThePartitioning) {
  const shard::testing::TestGraph whole = shard::testing::MakeTestGraph(testing::SmallTypedGraph(), 1, 1);
  sampler::PartitionedTensors& reference = whole.graph->tensors();
  for (const Initializer& initializer : {Initializer::Uniform(-2, 3, 7), Initializer::Normal(1, 0.5, 8),
                                         Initializer::XavierUniform(1, 9), Initializer::Constant(2.5)}) {
    for (const RowSpace& space : Spaces()) {
      const DistTensor tensor = Make({.rows = space, .row_shape = {5}, .name = "first", .initializer = initializer});
      const Tensor rows = All(tensor);
      const auto handle = reference.Create({.id = {space, "first", {}}, .row_shape = {5}, .initializer = initializer},
                                           graph_->CallDeadline());
      ASSERT_TRUE(handle.ok()) << handle.status().ToString();
      const auto expected = reference.Read(*handle, RowRange(0, tensor.num_rows()), graph_->CallDeadline());
      ASSERT_TRUE(expected.ok());
      std::vector<uint64_t> original(tensor.num_rows()), original_of_whole(tensor.num_rows());
      std::iota(original.begin(), original.end(), uint64_t{0});
      std::iota(original_of_whole.begin(), original_of_whole.end(), uint64_t{0});
      if (space.of != sampler::RowsOf::kOwn) {
        original = ListOriginalIds(served_.local(), space);
        original_of_whole = ListOriginalIds(whole, space);
      }
      std::map<uint64_t, uint64_t> row_of_whole;
      for (uint64_t row = 0; row < original_of_whole.size(); ++row) row_of_whole[original_of_whole[row]] = row;
      for (uint64_t row = 0; row < original.size(); ++row) {
        const auto values = rows.values<float>().subspan(row * 5, 5);
        const auto same = expected->values<float>().subspan(row_of_whole.at(original[row]) * 5, 5);
        ASSERT_TRUE(std::equal(values.begin(), values.end(), same.begin())) << "row " << row;
      }
      ASSERT_TRUE(reference.Drop(handle->id, graph_->CallDeadline()).ok());
      ASSERT_TRUE(DistTensor::Drop(*graph_, space, "first").ok());
    }
  }
}

// A second implementation of the formula of tensor_spec.h.
TEST_P(DistTensorValuesTest, RandomValuesAreThoseOfTheFormula) {
  const RowSpace space = RowSpace::Nodes(NodeTypeId(1));
  const DistTensor tensor = Make({.rows = space,
                                  .row_shape = {6},
                                  .dtype = DType::kF64,
                                  .name = "formula",
                                  .initializer = Initializer::Uniform(-1, 1, 42)});
  const Tensor rows = All(tensor);
  const std::vector<uint64_t> original = ListOriginalIds(served_.local(), space);
  const uint64_t key = RandomKey(42, RandomPurpose::kTensorRows, HashCombine(Hash64("nodes/paper"), Hash64("formula")));
  for (uint64_t row = 0; row < original.size(); row += 37) {
    for (uint64_t column = 0; column < 6; ++column) {
      const uint32_t word = Philox4x32(key, column / 4, original[row])[column % 4];
      ASSERT_EQ(rows.values<double>()[row * 6 + column], -1 + 2 * (word * 0x1p-32));
    }
  }
}

// The generated names of tensors differ from run to run; their values do not.
TEST_P(DistTensorValuesTest, RandomValuesOfAnonymousTensorsDependOnSeed) {
  const auto rows_of = [&](const RowSpace& space, uint64_t seed) {
    return All(Make({.rows = space, .row_shape = {4}, .initializer = Initializer::Uniform(0, 1, seed)}));
  };
  const auto equal = [](const Tensor& a, const Tensor& b) {
    return std::equal(a.values<float>().begin(), a.values<float>().begin() + 400, b.values<float>().begin());
  };
  const RowSpace own = RowSpace::Own(300);
  EXPECT_TRUE(equal(rows_of(own, 7), rows_of(own, 7)));
  EXPECT_FALSE(equal(rows_of(own, 7), rows_of(own, 8)));
  const uint64_t key = RandomKey(7, RandomPurpose::kTensorRows, HashCombine(Hash64("own"), Hash64("anonymous")));
  EXPECT_EQ(rows_of(own, 7).values<float>()[5], static_cast<float>(Philox4x32(key, 0, 1)[1] * 0x1p-32));
}

TEST_P(DistTensorValuesTest, SignsOfZerosAndNaNsDoNotDependOnTheOrderOfRows) {
  const uint64_t payload = 0x7ff8'0000'0000'1234;
  double other_nan = 0;
  std::memcpy(&other_nan, &payload, sizeof(payload));
  for (const bool backwards : {false, true}) {
    DistTensor t = Make({.rows = RowSpace::Own(8), .row_shape = {2}, .dtype = DType::kF64});
    std::vector<double> values(16);
    for (size_t row = 0; row < 8; ++row) {
      values[2 * row] = (row == 7) == backwards ? 0.0 : -0.0;
      values[2 * row + 1] = row == 0 ? other_nan : row == 7 ? NAN : 1;
    }
    if (backwards) std::swap(values[1], values[15]);
    ASSERT_TRUE(t.WriteRows(RowRange(0, 8), Tensor::FromVector(values, {8, 2})).ok());
    const Tensor smallest = *t.Min(), largest = *t.Max();
    EXPECT_TRUE(std::signbit(smallest.values<double>()[0]));
    EXPECT_FALSE(std::signbit(largest.values<double>()[0]));
    uint64_t bits = 0;
    std::memcpy(&bits, &smallest.values<double>()[1], sizeof(bits));
    EXPECT_EQ(bits, 0x7ff8'0000'0000'0000u);
  }
}

TEST_P(DistTensorValuesTest, RandomValuesHaveStatedDistribution) {
  constexpr uint64_t kRows = 4000;
  constexpr int64_t kWidth = 5;
  const auto moments = [&](const Initializer& initializer) {
    const DistTensor tensor = Make({.rows = RowSpace::Own(kRows), .row_shape = {kWidth}, .initializer = initializer});
    const Tensor rows = All(tensor);
    double sum = 0, squares = 0, largest = 0;
    for (const float value : rows.values<float>()) {
      sum += value;
      squares += double{value} * value;
      largest = std::max(largest, std::fabs(double{value}));
    }
    const double mean = sum / (kRows * kWidth);
    return std::tuple(mean, std::sqrt(squares / (kRows * kWidth) - mean * mean), largest);
  };
  const auto [normal_mean, normal_deviation, normal_largest] = moments(Initializer::Normal(3, 2, 1));
  EXPECT_NEAR(normal_mean, 3, 5 * 2 / std::sqrt(kRows * kWidth));
  EXPECT_NEAR(normal_deviation, 2, 0.06);
  EXPECT_LT(normal_largest, 3 + 2 * 6.7);
  const double bound = std::sqrt(6.0 / (kRows + kWidth));
  const auto [xavier_mean, xavier_deviation, xavier_largest] = moments(Initializer::XavierUniform(1, 1));
  EXPECT_NEAR(xavier_mean, 0, 5 * bound / std::sqrt(3.0 * kRows * kWidth));
  EXPECT_NEAR(xavier_deviation, bound / std::sqrt(3.0), 0.02 * bound);
  EXPECT_LE(xavier_largest, bound);
  EXPECT_GT(xavier_largest, 0.99 * bound);
}

TEST_P(DistTensorValuesTest, SumsAreExactUntilTheyAreRounded) {
  const RowSpace space = RowSpace::Edges(EdgeTypeId(0));
  DistTensor tensor = Make({.rows = space, .row_shape = {2}});
  const std::vector<uint64_t> original = ListOriginalIds(served_.local(), space);
  std::vector<float> values(original.size() * 2);
  ExactSum sums[2];
  float smallest = INFINITY, largest = -INFINITY;
  for (size_t i = 0; i < values.size(); ++i) {
    // A function of the original id over 60 powers of two: the sum depends on its order.
    const auto words = Philox4x32(3, original[i / 2], i % 2);
    values[i] = std::ldexp(UnitFloat(words[0]) - 0.5f, static_cast<int>(BoundedDraw(words[1], 60)) - 30);
    sums[i % 2].Add(values[i]);
    smallest = std::min(smallest, i % 2 == 0 ? values[i] : smallest);
    largest = std::max(largest, i % 2 == 0 ? values[i] : largest);
  }
  ASSERT_TRUE(tensor
                  .WriteRows(RowRange(0, tensor.num_rows()),
                             Tensor::FromVector(values, {static_cast<int64_t>(original.size()), 2}))
                  .ok());

  const auto sum = tensor.Sum(), mean = tensor.Mean();
  ASSERT_TRUE(sum.ok() && mean.ok()) << sum.status().ToString();
  EXPECT_THAT(sum->values<double>(), ElementsAre(sums[0].Rounded(), sums[1].Rounded()));
  EXPECT_EQ(mean->ValueAsDouble(1), sums[1].Rounded() / static_cast<double>(original.size()));
  EXPECT_EQ(tensor.Min()->ValueAsDouble(0), smallest);
  EXPECT_EQ(tensor.Max()->ValueAsDouble(0), largest);
  EXPECT_EQ(*tensor.CountNonzero(), values.size());
}

TEST_P(DistTensorValuesTest, ATensorWithoutRowsHasSumsOnly) {
  DistTensor none = Make({.rows = RowSpace::Own(0), .row_shape = {2}, .dtype = DType::kI8});
  EXPECT_TRUE(none.WriteRows({}, Tensor::Zeros(DType::kI8, {0, 2})).ok());
  EXPECT_EQ(none.Sum()->ValueAsInt(1), 0);
  EXPECT_EQ(*none.CountNonzero(), 0u);
  EXPECT_TRUE(std::isnan(none.Mean()->ValueAsDouble(0)));
  EXPECT_EQ(none.Max().status().code(), StatusCode::kFailedPrecondition);
}

TEST_P(DistTensorValuesTest, UnionsMasks) {
  const RowSpace space = RowSpace::Nodes(NodeTypeId(0));
  DistTensor train = Make({.rows = space, .dtype = DType::kBool}), test = Make({.rows = space, .dtype = DType::kBool});
  const auto ones = [](size_t count) {
    Tensor mask = Tensor::Zeros(DType::kBool, {static_cast<int64_t>(count)});
    std::fill_n(mask.mutable_bytes(), count, std::byte{1});
    return mask;
  };
  ASSERT_TRUE(train.WriteRows(RowRange(10, 100), ones(90)).ok());
  ASSERT_TRUE(test.WriteRows(RowRange(80, 200), ones(120)).ok());
  ASSERT_TRUE(train.Or(test).ok());
  EXPECT_EQ(*train.CountNonzero(), 190u);
  EXPECT_EQ(*test.CountNonzero(), 120u);
  DistTensor numbers = Make({.rows = space, .dtype = DType::kF32});
  EXPECT_EQ(numbers.Or(numbers).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(train.Or(Make({.rows = RowSpace::Nodes(NodeTypeId(1)), .dtype = DType::kBool})).code(),
            StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, DistTensorValuesTest, testing::kEverywhere, testing::NameOfReached);

}  // namespace
}  // namespace espalier::client
