#include "services/base/shorten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ShortenTest, TextThatFitsIsUnchanged) {
  EXPECT_EQ(ShortenMiddle("", 16), "");
  EXPECT_EQ(ShortenMiddle("exactly 16 bytes", 16), "exactly 16 bytes");
}

// The form of a TorchScript error: the cause is in the last line.
TEST(ShortenTest, KeepsFirstLineAndEndOfTrace) {
  std::string trace = "INVALID_ARGUMENT: s3://models/wide.pt: the model failed in its first layer\n";
  for (int i = 0; i < 100; ++i) trace += "  File \"deeper.py\", line " + std::to_string(i) + ", in forward\n";
  trace += "RuntimeError: The size of tensor a (1433) must match the size of tensor b (16)";
  const std::string shortened = ShortenMiddle(trace, 256);
  EXPECT_LE(shortened.size(), 256u);
  EXPECT_GE(shortened.size(), 250u);
  EXPECT_THAT(shortened, StartsWith("INVALID_ARGUMENT: s3://models/wide.pt: the model failed in its first layer ... "));
  EXPECT_THAT(shortened, EndsWith("\nRuntimeError: The size of tensor a (1433) must match the size of tensor b (16)"));
}

TEST(ShortenTest, ALongFirstLineLeavesHalfToTheEnd) {
  const std::string shortened = ShortenMiddle("where: " + std::string(1000, 'x') + " why", 64);
  EXPECT_EQ(shortened.size(), 64u);
  EXPECT_THAT(shortened, StartsWith("where: xx"));
  EXPECT_THAT(shortened, HasSubstr("x ... x"));
  EXPECT_THAT(shortened, EndsWith("x why"));
}

TEST(ShortenTest, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\u20ac";  // three bytes
  for (size_t max_bytes = 16; max_bytes < 40; ++max_bytes) {
    const std::string shortened = ShortenMiddle(text, max_bytes);
    EXPECT_LE(shortened.size(), max_bytes);
    EXPECT_EQ((shortened.size() - 5) % 3, 0u) << max_bytes;
  }
  EXPECT_LE(ShortenMiddle(std::string(100, '\x80'), 20).size(), 20u);
}

}  // namespace
}  // namespace espalier
