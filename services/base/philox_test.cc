#include "services/base/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/base/random_purpose.h"

namespace espalier {
namespace {

using ::testing::ElementsAre;

// The known answers that come with the Random123 distribution (kat_vectors, philox4x32 with 10 rounds).
TEST(PhiloxTest, MatchesPublishedVectors) {
  EXPECT_THAT(Philox4x32(0, 0, 0), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  const uint64_t ones = ~uint64_t{0};
  EXPECT_THAT(Philox4x32(ones, ones, ones), ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(Philox4x32(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(PhiloxTest, StreamReadsTheBlocksInOrder) {
  PhiloxStream stream(5, 9);
  for (uint64_t block = 0; block < 3; ++block) {
    for (const uint32_t word : Philox4x32(5, block, 9)) EXPECT_EQ(stream.Next(), word);
  }
}

TEST(PhiloxTest, BoundedDrawsCoverTheirRange) {
  EXPECT_EQ(BoundedDraw(0, 7), 0u);
  EXPECT_EQ(BoundedDraw(~0u, 7), 6u);
  EXPECT_EQ(UnitFloat(0), 0.0f);
  EXPECT_LT(UnitFloat(~0u), 1.0f);
  EXPECT_LT(UnitDouble(~0u, ~0u), 1.0);
}

TEST(RandomKeyTest, DiffersByPurposeSeedAndEveryPart) {
  const std::set<uint64_t> keys = {
      RandomKey(1, RandomPurpose::kDropout, 0, 0),   RandomKey(2, RandomPurpose::kDropout, 0, 0),
      RandomKey(1, RandomPurpose::kNeighbors, 0, 0), RandomKey(1, RandomPurpose::kDropout, 1, 0),
      RandomKey(1, RandomPurpose::kDropout, 0, 1),   RandomKey(1, RandomPurpose::kDropout, 0)};
  EXPECT_EQ(keys.size(), 6u);
}

}  // namespace
}  // namespace espalier
