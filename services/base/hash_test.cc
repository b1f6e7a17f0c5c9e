#include "services/base/hash.h"

#include <gtest/gtest.h>

#include "services/base/sha256.h"

namespace espalier {
namespace {

// XXH3's value for the empty input with seed 0, from its specification.
TEST(HashTest, IsXxh3) { EXPECT_EQ(Hash64(std::string_view()), 0x2D06800538D394C2u); }

TEST(HashTest, HexRoundTrips) {
  uint64_t hash = 0;
  EXPECT_EQ(ToHex(0xABCDu), "000000000000abcd");
  EXPECT_TRUE(ParseHex("000000000000abcd", &hash));
  EXPECT_EQ(hash, 0xABCDu);
  EXPECT_FALSE(ParseHex("abcd", &hash));
  EXPECT_FALSE(ParseHex("00000000000xabcd", &hash));
}

TEST(HashTest, CombineDependsOnOrder) { EXPECT_NE(HashCombine(1, 2), HashCombine(2, 1)); }

// FIPS 180-2, appendix B.1: SHA-256 of "abc".
TEST(Sha256Test, MatchesPublishedDigest) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  pieces.Update("a");
  pieces.Update("bc");
  EXPECT_EQ(pieces.HexDigest(), Sha256Hex("abc"));
}

TEST(Sha256Test, RecognizesHexDigests) {
  const std::string digest = Sha256Hex("abc");
  EXPECT_TRUE(IsSha256Hex(digest));
  for (const std::string& other : {std::string(), digest.substr(1), digest + "0", "B" + digest.substr(1)}) {
    EXPECT_FALSE(IsSha256Hex(other)) << other;
  }
}

}  // namespace
}  // namespace espalier
