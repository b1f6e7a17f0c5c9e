#include "services/client/ring/add_arrived.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "espalier/collective/v1/ring.pb.h"

namespace espalier::client {
namespace {

// Returns a message with these values, cut into slices whose sizes repeat.
template <class T>
Result<rpc::FrameReader> Arrived(const std::vector<T>& values, const std::vector<size_t>& slice_sizes) {
  std::vector<grpc::Slice> slices;
  const grpc::ByteBuffer head = rpc::EncodeFrame(collective::v1::Segment(), {});
  EXPECT_TRUE(head.Dump(&slices).ok());
  std::span<const std::byte> bytes = std::as_bytes(std::span<const T>(values));
  for (size_t i = 0; !bytes.empty(); ++i) {
    const size_t size_bytes = std::min(slice_sizes[i % slice_sizes.size()], bytes.size());
    slices.emplace_back(bytes.data(), size_bytes);
    bytes = bytes.subspan(size_bytes);
  }
  ASSIGN_OR_RETURN(rpc::FrameReader reader, rpc::FrameReader::Open(grpc::ByteBuffer(slices.data(), slices.size())));
  collective::v1::Segment header;
  RETURN_IF_ERROR(reader.ReadHeader(&header));
  return reader;
}

template <class T>
class AddArrivedTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AddArrivedTest, Types);

TYPED_TEST(AddArrivedTest, AddsWhereverTheMessageIsCut) {
  std::vector<TypeParam> values(1001), own(1001), sums(1001);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<TypeParam>(i) / 7;
    own[i] = static_cast<TypeParam>(i) * 3;
    sums[i] = values[i] + own[i];
  }
  for (const std::vector<size_t>& slice_sizes :
       std::vector<std::vector<size_t>>{{1}, {3}, {5, 1, 1}, {7, 64}, {40, 2}, {4096}, {100000}}) {
    auto reader = Arrived(values, slice_sizes);
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    std::vector<TypeParam> result(own.size());
    AddArrived<TypeParam>(*reader, ArrivedAre::kOfLowerRanks, own, result.data());
    EXPECT_EQ(result, sums) << slice_sizes[0];
    EXPECT_EQ(reader->remaining(), 0u);

    reader = Arrived(values, slice_sizes);
    result = own;
    AddArrived<TypeParam>(*reader, ArrivedAre::kOfHigherRanks, result, result.data());
    EXPECT_EQ(result, sums) << slice_sizes[0];
  }
}

TYPED_TEST(AddArrivedTest, OfTwoNansTheSameIsLeftAtBothRanks) {
  const TypeParam lower = std::copysign(std::numeric_limits<TypeParam>::quiet_NaN(), TypeParam{1});
  const TypeParam higher = std::copysign(std::numeric_limits<TypeParam>::quiet_NaN(), TypeParam{-1});
  // One SIMD vector, and more.
  const std::vector<TypeParam> lowers(100, lower), highers(100, higher);
  std::vector<TypeParam> at_lower(100), at_higher(100);
  auto reader = Arrived(highers, {400000});
  ASSERT_TRUE(reader.ok());
  AddArrived<TypeParam>(*reader, ArrivedAre::kOfHigherRanks, lowers, at_lower.data());
  reader = Arrived(lowers, {400000});
  ASSERT_TRUE(reader.ok());
  AddArrived<TypeParam>(*reader, ArrivedAre::kOfLowerRanks, highers, at_higher.data());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(std::signbit(at_lower[i]), std::signbit(at_higher[i])) << i;
}

}  // namespace
}  // namespace espalier::client
