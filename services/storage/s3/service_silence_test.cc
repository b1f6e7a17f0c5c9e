#include "services/storage/s3/service_silence.h"

#include <gtest/gtest.h>

namespace espalier::storage {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience{40}, kShortest{5}, kStall{15};

// Returns the time `second` seconds after the start of a test.
SteadyTime At(int second) { return SteadyTime(std::chrono::hours(1000) + seconds(second)); }

class ServiceSilenceTest : public ::testing::Test {
 protected:
  // Records a request without a response.
  void Fails(int sent, int ended) { silence_.Unanswered(At(sent), At(ended), kStall); }
  void ExpectBudget(int second, seconds budget) { EXPECT_EQ(silence_.BudgetAt(At(second)), budget) << second; }

  ServiceSilence silence_{kPatience, kShortest};
};

TEST_F(ServiceSilenceTest, IsNotThereUntilARequestFails) {
  ExpectBudget(0, kPatience);
  silence_.Answered(At(7));
  ExpectBudget(1000, kPatience);
  EXPECT_EQ(silence_.LengthAt(At(1000)), std::nullopt);
}

TEST_F(ServiceSilenceTest, LeavesLaterCallsWhatIsLeftAndNeverLessThanTheShortest) {
  Fails(10, 25);
  EXPECT_EQ(silence_.LengthAt(At(25)), seconds(15));
  ExpectBudget(25, seconds(25));
  Fails(25, 40);
  ExpectBudget(44, seconds(6));
  ExpectBudget(46, kShortest);
  Fails(46, 51);
  Fails(80, 85);
  ExpectBudget(85, kShortest);
  EXPECT_EQ(silence_.LengthAt(At(85)), seconds(75));
}

TEST_F(ServiceSilenceTest, EndsWithAnyAnswer) {
  Fails(0, 15);
  Fails(15, 60);
  silence_.Answered(At(61));
  ExpectBudget(61, kPatience);
  EXPECT_EQ(silence_.LengthAt(At(61)), std::nullopt);
}

TEST_F(ServiceSilenceTest, BeginsWithTheLastAnswerToAnybody) {
  // The request of another thread gets a response at 12, while this request waits.
  silence_.Answered(At(12));
  Fails(0, 15);
  ExpectBudget(15, seconds(37));
}

TEST_F(ServiceSilenceTest, DoesNotBeginWhileATransferMoves) {
  // A transfer of 100 seconds; no bytes were transferred in the last 15.
  Fails(0, 100);
  EXPECT_EQ(silence_.LengthAt(At(100)), kStall);
}

TEST_F(ServiceSilenceTest, BeginsWithTheEarliestOfRequestsSideBySide) {
  Fails(5, 10);  // no connection
  Fails(0, 15);
  EXPECT_EQ(silence_.LengthAt(At(15)), seconds(15));
}

TEST_F(ServiceSilenceTest, IsForgottenWhereNobodyAsksForLong) {
  Fails(0, 15);
  Fails(15, 30);
  ExpectBudget(70, kShortest);
  ExpectBudget(71, kPatience);
  EXPECT_EQ(silence_.LengthAt(At(71)), std::nullopt);
  // A new silence begins.
  Fails(90, 105);
  ExpectBudget(105, seconds(25));
}

}  // namespace
}  // namespace espalier::storage
