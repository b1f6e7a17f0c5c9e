#include "services/base/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace espalier {
namespace {

TEST(TensorTest, CountsRows) {
  const Tensor tensor = Tensor::Zeros(DType::kF32, {3, 4, 2});
  EXPECT_EQ(tensor.num_rows(), 3);
  EXPECT_EQ(tensor.row_bytes(), 32u);
  EXPECT_EQ(tensor.size_bytes(), 96u);
  EXPECT_EQ(tensor.ToString(), "F32 [3, 4, 2]");
}

TEST(TensorTest, CopiesShareTheirBytes) {
  Tensor tensor = Tensor::Zeros(DType::kI32, {2});
  tensor.mutable_values<int32_t>()[1] = 9;
  const Tensor copy = tensor;
  EXPECT_EQ(copy.bytes(), tensor.bytes());
  EXPECT_EQ(copy.values<int32_t>()[1], 9);
}

TEST(TensorTest, WrappedBytesKeepTheirOwnerAlive) {
  auto owner = std::make_shared<std::vector<int64_t>>(std::vector<int64_t>{1, 2, 3});
  const std::weak_ptr<std::vector<int64_t>> watch = owner;
  {
    const Tensor tensor = Tensor::Wrap(DType::kI64, {3}, owner->data(), owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(tensor.values<int64_t>()[2], 3);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(TensorTest, ReadsSingleElementsOfAnyType) {
  EXPECT_EQ(Tensor::FromVector(std::vector<uint16_t>{7, 8}).ValueAsInt(1), 8);
  EXPECT_EQ(Tensor::FromVector(std::vector<float>{0.5f}).ValueAsDouble(0), 0.5);
  const uint16_t half_bits = FloatToHalf(1.5f);
  EXPECT_EQ(Tensor::Wrap(DType::kF16, {1}, &half_bits, nullptr).ValueAsDouble(0), 1.5);
}

TEST(TensorTest, RefusesOtherTypeAndWritesToBorrowedBytes) {
  Tensor tensor = Tensor::FromVector(std::vector<float>{1});
  EXPECT_DEATH(static_cast<void>(tensor.values<int32_t>()), "F32");
  EXPECT_DEATH(static_cast<void>(tensor.mutable_bytes()), "read-only");
}

TEST(CheckedElementCountTest, RefusesShapesThatOverflow) {
  EXPECT_EQ(*CheckedElementCount(std::vector<int64_t>{3, 4}, 4), 12);
  EXPECT_EQ(*CheckedElementCount(std::vector<int64_t>{}, 4), 1);
  EXPECT_EQ(CheckedElementCount(std::vector<int64_t>{-1}, 4).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckedElementCount(std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40}, 4).status().code(),
            StatusCode::kOutOfRange);
  // The product overflows before the 0, as it would wherever the elements are counted.
  EXPECT_EQ(CheckedElementCount(std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40, 0}, 4).status().code(),
            StatusCode::kOutOfRange);
  EXPECT_EQ(CheckedElementCount(std::vector<int64_t>{std::numeric_limits<int64_t>::max()}, 8).status().code(),
            StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace espalier
