#include "services/client/remote/row_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::client {
namespace {

TEST(RowPiecesTest, AreConcatenated) {
  RowPieces rows(3);
  ASSERT_TRUE(rows.Add(Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2})).ok());
  ASSERT_TRUE(rows.Add(Tensor::Zeros(DType::kF32, {0, 2})).ok());
  ASSERT_TRUE(rows.Add(Tensor::FromVector<float>({5, 6}, {1, 2})).ok());
  const Tensor all = rows.Take();
  EXPECT_EQ(all.ToString(), "F32 [3, 2]");
  EXPECT_THAT(all.values<float>(), ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(RowPiecesTest, OfNoRowsHaveRequestedType) {
  RowPieces rows(0);
  ASSERT_TRUE(rows.Add(Tensor::Zeros(DType::kI64, {0, 3})).ok());
  EXPECT_EQ(rows.Take().ToString(), "I64 [0, 3]");
}

TEST(RowPiecesTest, WideRowsAreRequestedInParts) {
  EXPECT_EQ(RowsPerRequest(Tensor::Zeros(DType::kF32, {0, 16}), 1'000'000), 1'000'000u);
  EXPECT_EQ(RowsPerRequest(Tensor::Zeros(DType::kF32, {0, 1 << 20}), 1'000'000), 16u);
  EXPECT_EQ(RowsPerRequest(Tensor::Zeros(DType::kF32, {0, 1 << 20}), 7), 7u);
  EXPECT_EQ(RowsPerRequest(Tensor::Zeros(DType::kF32, {0, 1 << 25}), 7), 1u);
  EXPECT_EQ(RowsPerRequest(Tensor::Zeros(DType::kF32, {0, 0}), 7), 7u);
}

// The rows come from servers and are not trusted.
TEST(RowPiecesTest, RefusesRowsThatDoNotFit) {
  RowPieces rows(2);
  EXPECT_EQ(rows.Add(Tensor::Zeros(DType::kF32, {})).code(), StatusCode::kInternal);
  EXPECT_EQ(rows.Add(Tensor::Zeros(DType::kF32, {3})).code(), StatusCode::kInternal);
  ASSERT_TRUE(rows.Add(Tensor::Zeros(DType::kF32, {1})).ok());
  EXPECT_EQ(rows.Add(Tensor::Zeros(DType::kI64, {1})).code(), StatusCode::kInternal);
  EXPECT_EQ(rows.Add(Tensor::Zeros(DType::kF32, {1, 2})).code(), StatusCode::kInternal);
  EXPECT_EQ(rows.Add(Tensor::Zeros(DType::kF32, {2})).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace espalier::client
