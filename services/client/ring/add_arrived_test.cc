#include "services/client/ring/add_arrived.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace espalier::client {
namespace {

template <class T>
class AddArrivedTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AddArrivedTest, Types);

TYPED_TEST(AddArrivedTest, AddsValuesOfAnyAlignment) {
  for (const size_t count : {0, 1, 7, 1001}) {
    std::vector<TypeParam> arrived(count), own(count), sums(count);
    for (size_t i = 0; i < count; ++i) {
      arrived[i] = static_cast<TypeParam>(i) / 7;
      own[i] = static_cast<TypeParam>(i) * 3;
      sums[i] = arrived[i] + own[i];
    }
    for (const size_t shift : {0, 1, 3, 4}) {
      std::vector<std::byte> shifted(shift + count * sizeof(TypeParam));
      const std::span<std::byte> bytes = std::span(shifted).subspan(shift);
      if (count > 0) std::memcpy(bytes.data(), arrived.data(), bytes.size());
      for (const ArrivedFrom from : {ArrivedFrom::kLowerRanks, ArrivedFrom::kHigherRanks}) {
        std::vector<TypeParam> values = own;
        AddArrived<TypeParam>(bytes, from, values);
        EXPECT_EQ(values, sums) << count << " values at byte " << shift;
      }
    }
  }
}

TYPED_TEST(AddArrivedTest, SumOfTwoNansIsSameOnBothRanks) {
  const TypeParam lower = std::copysign(std::numeric_limits<TypeParam>::quiet_NaN(), TypeParam{1});
  const TypeParam higher = std::copysign(std::numeric_limits<TypeParam>::quiet_NaN(), TypeParam{-1});
  // Several SIMD vectors, and a remainder.
  const std::vector<TypeParam> lowers(101, lower), highers(101, higher);
  std::vector<TypeParam> at_lower = lowers, at_higher = highers;
  AddArrived<TypeParam>(std::as_bytes(std::span(highers)), ArrivedFrom::kHigherRanks, at_lower);
  AddArrived<TypeParam>(std::as_bytes(std::span(lowers)), ArrivedFrom::kLowerRanks, at_higher);
  for (size_t i = 0; i < lowers.size(); ++i) EXPECT_EQ(std::signbit(at_lower[i]), std::signbit(at_higher[i])) << i;
}

}  // namespace
}  // namespace espalier::client
