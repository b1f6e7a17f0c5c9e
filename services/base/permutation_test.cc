#include "services/base/permutation.h"

#include <gtest/gtest.h>

#include <vector>

namespace espalier {
namespace {

TEST(PermutationTest, IsABijectionWithItsInverseForEverySize) {
  for (uint64_t size = 0; size <= 300; ++size) {
    const Permutation permutation(42, size);
    std::vector<bool> seen(size, false);
    for (uint64_t position = 0; position < size; ++position) {
      const uint64_t element = permutation.At(position);
      ASSERT_LT(element, size);
      ASSERT_FALSE(seen[element]) << "size " << size;
      seen[element] = true;
      ASSERT_EQ(permutation.Position(element), position);
    }
  }
}

TEST(PermutationTest, InvertsAtHugeSizes) {
  const Permutation permutation(7, (uint64_t{1} << 40) + 12345);
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t position = i * 1'099'511'627;
    EXPECT_EQ(permutation.Position(permutation.At(position)), position);
  }
}

// Where element 0 of 8 lands over many keys: chi-square with 7 degrees of freedom, 24.3 is the 0.1 % point.
TEST(PermutationTest, SpreadsElementsEvenlyOverKeys) {
  constexpr int kKeys = 8000;
  std::vector<int> count(8, 0);
  for (uint64_t key = 0; key < kKeys; ++key) ++count[Permutation(key, 8).Position(0)];
  double chi_square = 0;
  for (const int n : count) chi_square += (n - 1000.0) * (n - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 24.3);
}

}  // namespace
}  // namespace espalier
