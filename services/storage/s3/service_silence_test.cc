#include "services/storage/s3/service_silence.h"

#include <gtest/gtest.h>

namespace espalier::storage {
namespace {

using std::chrono::seconds;

constexpr seconds kBudget{40}, kMinCall{5}, kStall{15};

// Returns the time `second` seconds after the start of a test.
SteadyTime At(int second) { return SteadyTime(std::chrono::hours(1000) + seconds(second)); }

class ServiceSilenceTest : public ::testing::Test {
 protected:
  // Records a request without a response.
  void Fails(int sent, int ended) { silence_.RecordFailure(At(sent), At(ended), kStall); }
  void ExpectBudget(int second, seconds budget) { EXPECT_EQ(silence_.BudgetAt(At(second)), budget) << second; }

  ServiceSilence silence_{kBudget, kMinCall};
};

TEST_F(ServiceSilenceTest, StartsWithFailedRequest) {
  ExpectBudget(0, kBudget);
  silence_.RecordResponse(At(7));
  ExpectBudget(1000, kBudget);
  EXPECT_EQ(silence_.LengthAt(At(1000)), std::nullopt);
}

TEST_F(ServiceSilenceTest, LaterCallsGetRemainingTimeOrMinimum) {
  Fails(10, 25);
  EXPECT_EQ(silence_.LengthAt(At(25)), seconds(15));
  ExpectBudget(25, seconds(25));
  Fails(25, 40);
  ExpectBudget(44, seconds(6));
  ExpectBudget(46, kMinCall);
  Fails(46, 51);
  Fails(80, 85);
  ExpectBudget(85, kMinCall);
  EXPECT_EQ(silence_.LengthAt(At(85)), seconds(75));
}

TEST_F(ServiceSilenceTest, EndsWithAnyResponse) {
  Fails(0, 15);
  Fails(15, 60);
  silence_.RecordResponse(At(61));
  ExpectBudget(61, kBudget);
  EXPECT_EQ(silence_.LengthAt(At(61)), std::nullopt);
}

TEST_F(ServiceSilenceTest, StartsAtLastResponse) {
  // The request of another thread gets a response at 12, while this request waits.
  silence_.RecordResponse(At(12));
  Fails(0, 15);
  ExpectBudget(15, seconds(37));
}

TEST_F(ServiceSilenceTest, DoesNotStartWhileTransferProgresses) {
  // A transfer of 100 seconds; no bytes were transferred in the last 15.
  Fails(0, 100);
  EXPECT_EQ(silence_.LengthAt(At(100)), kStall);
}

TEST_F(ServiceSilenceTest, StartsAtEarliestConcurrentRequest) {
  Fails(5, 10);  // no connection
  Fails(0, 15);
  EXPECT_EQ(silence_.LengthAt(At(15)), seconds(15));
}

TEST_F(ServiceSilenceTest, ExpiresWithoutRequests) {
  Fails(0, 15);
  Fails(15, 30);
  ExpectBudget(70, kMinCall);
  ExpectBudget(71, kBudget);
  EXPECT_EQ(silence_.LengthAt(At(71)), std::nullopt);
  // A new silence begins.
  Fails(90, 105);
  ExpectBudget(105, seconds(25));
}

}  // namespace
}  // namespace espalier::storage
