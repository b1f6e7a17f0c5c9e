#include "services/base/select_rows.h"

#include <gmock/gmock.h>

#include <numeric>

namespace espalier {
namespace {

using ::testing::ElementsAre;

TEST(SelectRowsTest, CopiesRowsInTheOrderOfTheIndices) {
  const Tensor tensor = Tensor::FromVector<float>({0, 1, 10, 11, 20, 21}, {3, 2});
  const std::vector<uint32_t> rows = {2, 0, 2};
  const Tensor selected = SelectRows<uint32_t>(tensor, rows);
  EXPECT_THAT(selected.shape(), ElementsAre(3, 2));
  EXPECT_THAT(selected.values<float>(), ElementsAre(20, 21, 0, 1, 20, 21));
}

TEST(SelectRowsTest, KeepsDtypeAndRowShapeWithoutRowsOrBytes) {
  const Tensor no_rows = SelectRows<uint64_t>(Tensor::Zeros(DType::kI64, {3, 2, 4}), {});
  EXPECT_EQ(no_rows.dtype(), DType::kI64);
  EXPECT_THAT(no_rows.shape(), ElementsAre(0, 2, 4));
  const std::vector<uint64_t> rows = {1, 1};
  EXPECT_THAT(SelectRows<uint64_t>(Tensor::Zeros(DType::kU8, {3, 0}), rows).shape(), ElementsAre(2, 0));
}

TEST(SelectRowsTest, IsTheSameWithMoreThreads) {
  std::vector<uint32_t> values(100'000);
  std::iota(values.begin(), values.end(), 0);
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < values.size(); ++i) rows.push_back(i * 7919 % values.size());
  const Tensor tensor = Tensor::FromVector(values);
  const Tensor one = SelectRows<uint64_t>(tensor, rows), four = SelectRows<uint64_t>(tensor, rows, 4);
  EXPECT_TRUE(std::ranges::equal(one.values<uint32_t>(), rows));
  EXPECT_TRUE(std::ranges::equal(four.byte_span(), one.byte_span()));
}

}  // namespace
}  // namespace espalier
