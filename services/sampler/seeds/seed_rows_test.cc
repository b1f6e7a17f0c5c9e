#include "services/sampler/seeds/seed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::sampler {
namespace {

Tensor PositionsOfRows(std::vector<uint32_t> positions) { return Tensor::FromVector(std::move(positions)); }

TEST(SeedRowsTest, HaveOrderOfSeeds) {
  SeedRows rows(4);
  ASSERT_TRUE(rows.Add(0, PositionsOfRows({3, 0}), Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2})).ok());
  ASSERT_TRUE(rows.Add(1, PositionsOfRows({}), Tensor::Zeros(DType::kF32, {0, 2})).ok());
  ASSERT_TRUE(rows.Add(2, PositionsOfRows({1, 2}), Tensor::FromVector<float>({5, 6, 7, 8}, {2, 2})).ok());
  const Tensor all = rows.Take();
  EXPECT_EQ(all.shape(), (std::vector<int64_t>{4, 2}));
  EXPECT_THAT(all.values<float>(), ::testing::ElementsAre(3, 4, 5, 6, 7, 8, 1, 2));
}

TEST(SeedRowsTest, RefusesInconsistentReplies) {
  SeedRows rows(3);
  EXPECT_EQ(rows.Add(0, PositionsOfRows({0, 1}), Tensor::FromVector<int64_t>({7})).code(), StatusCode::kInternal);
  ASSERT_TRUE(rows.Add(0, PositionsOfRows({0, 1}), Tensor::FromVector<int64_t>({7, 8})).ok());
  EXPECT_EQ(rows.Add(1, PositionsOfRows({2}), Tensor::FromVector<float>({7})).code(), StatusCode::kInternal);
  EXPECT_EQ(
      rows.Add(1, PositionsOfRows({2}), Tensor::Zeros(DType::kI64, {1, 2})),
      Internal("partition 1 sent rows I64 [1, 2], which differ from those of other partitions: expected I64 [1]"));
  // An empty tensor with a huge row size: the message is small, but the rows of all seeds would not fit into memory.
  SeedRows large(1 << 20);
  EXPECT_EQ(large.Add(0, PositionsOfRows({}), Tensor::Zeros(DType::kF32, {0, int64_t{1} << 30})).code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::sampler
