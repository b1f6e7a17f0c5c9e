#include "services/job/text/suggestion.h"

#include <gtest/gtest.h>

namespace espalier::job {
namespace {

TEST(SuggestionTest, FindsOnlyTypingErrors) {
  const std::vector<std::string> names = {"count", "algorithm", "objective", "uri"};

  EXPECT_EQ(NearestName("cuont", names), "count");
  EXPECT_EQ(NearestName("ALGORITHM", names), "algorithm");
  EXPECT_EQ(NearestName("algoritm", names), "algorithm");
  EXPECT_EQ(NearestName("url", names), "uri");
  EXPECT_EQ(NearestName("partitions", names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName(std::string(100'000, 'x'), names), "");
  EXPECT_EQ(DidYouMean("cont", names), " (did you mean 'count'?)");
  EXPECT_EQ(DidYouMean("zebra", names), "");
}

}  // namespace
}  // namespace espalier::job
