#include "operator/kube/time.h"

#include <gtest/gtest.h>

namespace espalier::ctl::kube {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr int64_t kNewYear2026 = 1'767'225'600;  // `date -d 2026-01-01T00:00:00Z +%s`

std::string Normalized(std::string_view text) {
  const Result<WallTime> time = ParseTime(text);
  return time.ok() ? FormatMicroTime(*time) : time.status().ToString();
}

TEST(TimeTest, FormatsBothKinds) {
  const WallTime time{seconds(kNewYear2026 + 97'445) + microseconds(6)};
  EXPECT_EQ(FormatTime(time), "2026-01-02T03:04:05Z");
  EXPECT_EQ(FormatMicroTime(time), "2026-01-02T03:04:05.000006Z");
}

TEST(TimeTest, FormatsTimesBeforeTheEpoch) {
  EXPECT_EQ(FormatMicroTime(WallTime(microseconds(-1))), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(Normalized("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00.000000Z");
}

TEST(TimeTest, FormatsTimesBeyondFourDigitsAsTheNearest) {
  EXPECT_EQ(FormatMicroTime(WallTime::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTime(WallTime::min()), "0000-01-01T00:00:00Z");
}

TEST(TimeTest, ParsesWhatKubernetesAndItsClientsWrite) {
  ASSERT_TRUE(ParseTime("2026-01-01T00:00:00Z").ok());
  EXPECT_EQ(*ParseTime("2026-01-01T00:00:00Z"), WallTime(seconds(kNewYear2026)));
  EXPECT_EQ(Normalized("2026-01-02T03:04:05.000006Z"), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(Normalized("2026-01-02T03:04:05.5Z"), "2026-01-02T03:04:05.500000Z");
  EXPECT_EQ(Normalized("2026-01-02T03:04:05.1234567899Z"), "2026-01-02T03:04:05.123456Z");
  EXPECT_EQ(Normalized("2026-01-01T00:30:00+01:00"), "2025-12-31T23:30:00.000000Z");
  EXPECT_EQ(Normalized("2026-01-01T00:30:00-09:30"), "2026-01-01T10:00:00.000000Z");
  EXPECT_EQ(Normalized("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00.000000Z");
}

TEST(TimeTest, RefusesOtherFormats) {
  for (const char* text : {"",
                           "2026",
                           "2026-01-02",
                           "2026-01-02T03:04:05",
                           "2026-01-02 03:04:05Z",
                           "2026-13-02T03:04:05Z",
                           "2026-02-29T03:04:05Z",
                           "2026-00-02T03:04:05Z",
                           "2026-01-00T03:04:05Z",
                           "2026-01-02T24:00:00Z",
                           "2026-01-02T03:60:05Z",
                           "2026-01-02T03:04:60Z",
                           "2026-01-02T03:04:05.Z",
                           "2026-01-02T03:04:05+0100",
                           "2026-01-02T03:04:05+24:00",
                           "2026-01-02T03:04:05Zx",
                           "2026-1-2T3:4:5Z",
                           "+026-01-02T03:04:05Z",
                           "2026-01-02T03:04:05.+1Z",
                           "20260-01-02T03:04:05Z",
                           "9223372036854775807"}) {
    EXPECT_EQ(ParseTime(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace espalier::ctl::kube
