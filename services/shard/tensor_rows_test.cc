// One tensor's rows: arithmetic of every dtype.
#include "services/shard/tensor_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "services/base/exact_sum.h"

namespace espalier::shard {
namespace {

using sampler::Reduction;
using sampler::RowWrite;
using ::testing::ElementsAre;

std::vector<LocalRowId> Rows(std::initializer_list<uint32_t> numbers) {
  std::vector<LocalRowId> rows;
  for (const uint32_t number : numbers) rows.emplace_back(number);
  return rows;
}

std::shared_ptr<TensorRows> MakeRows(DType dtype, std::vector<int64_t> row_shape, uint64_t num_rows) {
  auto rows = TensorRows::Make(dtype, std::move(row_shape), num_rows);
  ESPALIER_CHECK(rows.ok()) << rows.status().ToString();
  return *std::move(rows);
}

template <class T>
std::vector<T> AllValues(TensorRows& rows) {
  std::vector<LocalRowId> ids;
  for (uint32_t row = 0; row < rows.num_rows(); ++row) ids.emplace_back(row);
  std::vector<uint32_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), 0u);
  std::vector<T> values(rows.size_bytes() / sizeof(T));
  const size_t row_bytes = rows.size_bytes() / std::max<uint64_t>(1, rows.num_rows());
  const Status read = rows.Gather(ids, {reinterpret_cast<std::byte*>(values.data()), row_bytes, positions});
  ESPALIER_CHECK(read.ok()) << read.ToString();
  return values;
}

template <class T>
Status Put(TensorRows& rows, RowWrite write, std::initializer_list<uint32_t> numbers, std::vector<T> values) {
  std::vector<int64_t> shape = {static_cast<int64_t>(numbers.size())};
  shape.insert(shape.end(), rows.row_shape().begin(), rows.row_shape().end());
  return rows.Write(write, Rows(numbers), Tensor::FromVector(std::move(values), std::move(shape)), "t");
}

TEST(TensorRowsTest, AccumulatesRepeatedRowsInTheirOrder) {
  const auto rows = MakeRows(DType::kF32, {2}, 3);
  ASSERT_TRUE(Put<float>(*rows, RowWrite::kAdd, {2, 0, 2}, {1, 2, 3, 4, 5, 6}).ok());
  EXPECT_THAT(AllValues<float>(*rows), ElementsAre(3, 4, 0, 0, 6, 8));
  ASSERT_TRUE(Put<float>(*rows, RowWrite::kMin, {0, 0}, {9, 1, 2, 9}).ok());
  ASSERT_TRUE(Put<float>(*rows, RowWrite::kMax, {2}, {7, 7}).ok());
  EXPECT_THAT(AllValues<float>(*rows), ElementsAre(2, 1, 0, 0, 7, 8));
  ASSERT_TRUE(Put<float>(*rows, RowWrite::kAssign, {1, 1}, {5, 5, 6, 6}).ok());
  EXPECT_THAT(AllValues<float>(*rows), ElementsAre(2, 1, 6, 6, 7, 8));
}

TEST(TensorRowsTest, IntegersWrapAround) {
  const auto small = MakeRows(DType::kI8, {}, 1);
  ASSERT_TRUE(Put<int8_t>(*small, RowWrite::kAdd, {0, 0}, {127, 2}).ok());
  EXPECT_THAT(AllValues<int8_t>(*small), ElementsAre(-127));
  const auto large = MakeRows(DType::kI64, {}, 1);
  const int64_t most = std::numeric_limits<int64_t>::max();
  ASSERT_TRUE(Put<int64_t>(*large, RowWrite::kAdd, {0, 0}, {most, 1}).ok());
  EXPECT_THAT(AllValues<int64_t>(*large), ElementsAre(std::numeric_limits<int64_t>::min()));
}

TEST(TensorRowsTest, NanWinsMinimumAndMaximum) {
  const auto rows = MakeRows(DType::kF64, {}, 2);
  const double nan = std::nan("");
  ASSERT_TRUE(Put<double>(*rows, RowWrite::kMax, {0, 0}, {nan, 5}).ok());
  ASSERT_TRUE(Put<double>(*rows, RowWrite::kMin, {1, 1}, {-3, nan}).ok());
  for (const double value : AllValues<double>(*rows)) EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(std::isnan(rows->Reduce(Reduction::kMax)->ValueAsDouble(0)));
}

TEST(TensorRowsTest, ShortFloatsAreRoundedAtEachStep) {
  const auto half = MakeRows(DType::kF16, {}, 1), brain = MakeRows(DType::kBF16, {}, 1);
  // 2049 is not an F16 value: 2048 + 1 is a tie that is rounded to 2048. 257 is not a BF16 value.
  const auto halves = [](float a, float b) { return std::vector<uint16_t>{FloatToHalf(a), FloatToHalf(b)}; };
  const auto brains = [](float a, float b) { return std::vector<uint16_t>{FloatToBFloat16(a), FloatToBFloat16(b)}; };
  const auto add = [](TensorRows& rows, std::vector<uint16_t> bits) {
    const auto held = std::make_shared<std::vector<uint16_t>>(std::move(bits));
    return rows.Write(RowWrite::kAdd, Rows({0, 0}), Tensor::Wrap(rows.dtype(), {2}, held->data(), held), "t");
  };
  ASSERT_TRUE(add(*half, halves(2048, 1)).ok());
  ASSERT_TRUE(add(*brain, brains(256, 1)).ok());
  EXPECT_EQ(HalfToFloat(AllValues<uint16_t>(*half)[0]), 2048);
  EXPECT_EQ(BFloat16ToFloat(AllValues<uint16_t>(*brain)[0]), 256);
  EXPECT_EQ(ExactSum::FromWords(half->Reduce(Reduction::kSum)->values<int64_t>()).Rounded(), 2048);
}

TEST(TensorRowsTest, BooleansAreMasks) {
  const auto mask = MakeRows(DType::kBool, {}, 4), other = MakeRows(DType::kBool, {}, 4);
  const auto set = [](TensorRows& rows, RowWrite write, std::initializer_list<uint32_t> numbers, uint8_t value) {
    const auto held = std::make_shared<std::vector<uint8_t>>(numbers.size(), value);
    const std::vector<int64_t> shape = {static_cast<int64_t>(numbers.size())};
    return rows.Write(write, Rows(numbers), Tensor::Wrap(DType::kBool, shape, held->data(), held), "t");
  };
  ASSERT_TRUE(set(*mask, RowWrite::kAssign, {0, 1}, 1).ok());
  ASSERT_TRUE(set(*other, RowWrite::kAdd, {1, 3, 3}, 1).ok());
  ASSERT_TRUE(mask->Combine(RowWrite::kOr, *other, "t").ok());
  EXPECT_THAT(AllValues<uint8_t>(*mask), ElementsAre(1, 1, 0, 1));
  ASSERT_TRUE(set(*mask, RowWrite::kMin, {0, 2}, 0).ok());
  EXPECT_THAT(AllValues<uint8_t>(*mask), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(mask->Reduce(Reduction::kCountNonzero)->ValueAsInt(0), 2);
  EXPECT_EQ(MakeRows(DType::kF32, {}, 1)->Combine(RowWrite::kOr, *MakeRows(DType::kF32, {}, 1), "t").code(),
            StatusCode::kInvalidArgument);
}

TEST(TensorRowsTest, ReducesColumnByColumn) {
  const auto rows = MakeRows(DType::kI16, {2}, 3);
  ASSERT_TRUE(Put<int16_t>(*rows, RowWrite::kAssign, {0, 1, 2}, {-5, 0, 3, 7, 0, 1}).ok());
  const auto values = [&](Reduction reduction) {
    const auto part = rows->Reduce(reduction);
    ESPALIER_CHECK(part.ok()) << part.status().ToString();
    return std::pair(part->ValueAsInt(0), part->ValueAsInt(1));
  };
  EXPECT_EQ(values(Reduction::kSum), std::pair(int64_t{-2}, int64_t{8}));
  EXPECT_EQ(values(Reduction::kMin), std::pair(int64_t{-5}, int64_t{0}));
  EXPECT_EQ(values(Reduction::kMax), std::pair(int64_t{3}, int64_t{7}));
  EXPECT_EQ(values(Reduction::kCountNonzero), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(MakeRows(DType::kI16, {2}, 0)->Reduce(Reduction::kMin).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeRows(DType::kI16, {1 << 17}, 1)->Reduce(Reduction::kSum).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(TensorRowsTest, RefusedWritesChangeNothing) {
  const auto rows = MakeRows(DType::kI32, {}, 3);
  EXPECT_EQ(Put<int32_t>(*rows, RowWrite::kAdd, {0, 3}, {1, 1}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Put<int64_t>(*rows, RowWrite::kAdd, {0}, {1}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(rows->Write(RowWrite::kAdd, Rows({0}), Tensor::FromVector<int32_t>({1, 2}), "t").code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(rows->Write(RowWrite(9), Rows({0}), Tensor::FromVector<int32_t>({1}), "t").code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(rows->Combine(RowWrite::kAdd, *MakeRows(DType::kI32, {}, 4), "t").code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(AllValues<int32_t>(*rows), ElementsAre(0, 0, 0));
}

TEST(TensorRowsTest, AllowsRowsWithoutElements) {
  const auto rows = MakeRows(DType::kF32, {0}, 3);
  EXPECT_TRUE(Put<float>(*rows, RowWrite::kAdd, {2}, {}).ok());
  EXPECT_EQ(rows->Reduce(Reduction::kSum)->num_elements(), 0);
}

// Combining a with b and b with a concurrently must not deadlock.
TEST(TensorRowsTest, CombinesInBothDirectionsAtOnce) {
  const auto a = MakeRows(DType::kI64, {16}, 64), b = MakeRows(DType::kI64, {16}, 64);
  {
    std::jthread other([&] {
      for (int i = 0; i < 200; ++i) EXPECT_TRUE(a->Combine(RowWrite::kMax, *b, "a").ok());
    });
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(b->Combine(RowWrite::kMax, *a, "b").ok());
  }
  ASSERT_TRUE(a->Combine(RowWrite::kAdd, *a, "a").ok());
  EXPECT_EQ(AllValues<int64_t>(*a), AllValues<int64_t>(*b));
}

}  // namespace
}  // namespace espalier::shard
