// Tests that a LineBuffer returns the same lines for any split of the bytes, limits lines and responses, holds a writer
// that is too far ahead, and wakes its reader when it ends.
#include "operator/client/cpprest/line_buffer.h"

#include <gmock/gmock.h>

#include <limits>
#include <thread>
#include <vector>

namespace espalier::ctl::client {
namespace {

using Appended = LineBuffer::Appended;

constexpr LineBuffer::Limits kRoomy{.max_line_bytes = 1000, .high_water_bytes = 1000};
const Deadline kNow = Deadline::At({});
Deadline InTime() { return Deadline::After(std::chrono::seconds(60)); }
void NeverCalled() { ADD_FAILURE() << "no writer was held"; }

std::vector<std::string> LinesNow(LineBuffer& buffer) {
  std::vector<std::string> lines;
  for (auto line = buffer.NextLine(kNow); line.ok() && *line; line = buffer.NextLine(kNow)) lines.push_back(**line);
  return lines;
}

TEST(LineBufferTest, LinesDoNotDependOnChunkBoundaries) {
  const std::string text = "ab\nc\n\ndef\n";
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      LineBuffer buffer(kRoomy);
      buffer.Append(text.substr(0, first), NeverCalled);
      buffer.Append(text.substr(first, second - first), NeverCalled);
      buffer.Append(text.substr(second), NeverCalled);
      EXPECT_THAT(LinesNow(buffer), testing::ElementsAre("ab", "c", "", "def"));
    }
  }
}

TEST(LineBufferTest, TimeoutWithoutLineKeepsBufferUsable) {
  LineBuffer buffer(kRoomy);
  buffer.Append("half a", NeverCalled);
  EXPECT_EQ(buffer.NextLine(kNow).status().code(), StatusCode::kDeadlineExceeded);

  std::jthread writer([&] { buffer.Append(" line\n", NeverCalled); });
  EXPECT_EQ(**buffer.NextLine(InTime()), "half a line");
}

TEST(LineBufferTest, DropsUnterminatedLineAtEnd) {
  LineBuffer buffer(kRoomy);
  buffer.Append("whole\nhal", NeverCalled);
  buffer.End({});

  EXPECT_EQ(**buffer.NextLine(kNow), "whole");
  for (int i = 0; i < 2; ++i) {
    const auto end = buffer.NextLine(kNow);
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(*end, std::nullopt);
  }
}

TEST(LineBufferTest, ReturnsCompleteLinesBeforeError) {
  LineBuffer buffer(kRoomy);
  buffer.Append("whole\nhal", NeverCalled);
  buffer.End(Unavailable("broken"));
  buffer.End({});  // has no effect: only the first end counts

  EXPECT_EQ(**buffer.NextLine(kNow), "whole");
  EXPECT_EQ(buffer.NextLine(kNow).status(), Unavailable("broken"));
  EXPECT_EQ(buffer.Append("more\n", NeverCalled), Appended::kRefused);
}

TEST(LineBufferTest, RefusesIncompleteLineOverLimit) {
  LineBuffer buffer({.max_line_bytes = 10, .high_water_bytes = 1000});
  EXPECT_EQ(buffer.Append("short\n0123456789", NeverCalled), Appended::kContinue);
  EXPECT_EQ(buffer.Append("x", NeverCalled), Appended::kRefused);

  EXPECT_EQ(**buffer.NextLine(kNow), "short");
  EXPECT_EQ(buffer.NextLine(kNow).status().code(), StatusCode::kResourceExhausted);
}

TEST(LineBufferTest, RefusesLongLineAmongShortOnes) {
  LineBuffer buffer({.max_line_bytes = 10, .high_water_bytes = 1000});
  EXPECT_EQ(buffer.Append("a\n0123456789\nb\n", NeverCalled), Appended::kContinue);
  EXPECT_EQ(buffer.Append("c\n01234567890\nd\n", NeverCalled), Appended::kRefused);
  EXPECT_THAT(LinesNow(buffer), testing::ElementsAre("a", "0123456789", "b"));
}

TEST(LineBufferTest, RefusesImpossibleSizeWithoutReading) {
  LineBuffer buffer(kRoomy);
  const char byte = 'x';
  EXPECT_EQ(buffer.Append({&byte, static_cast<size_t>(-1)}, NeverCalled), Appended::kRefused);
  EXPECT_EQ(buffer.NextLine(kNow).status().code(), StatusCode::kResourceExhausted);
}

TEST(LineBufferTest, WriterResumesWhenBufferIsHalfEmpty) {
  LineBuffer buffer({.max_line_bytes = 100, .high_water_bytes = 8});
  int num_resumed = 0;
  const auto resume = [&] { ++num_resumed; };
  EXPECT_EQ(buffer.Append("123\n456\n", resume), Appended::kContinue);
  EXPECT_EQ(buffer.Append("789\nx", resume), Appended::kHold);

  EXPECT_EQ(**buffer.NextLine(kNow), "123");
  EXPECT_EQ(num_resumed, 0);  // eight unread bytes of lines are more than half of the limit
  EXPECT_EQ(**buffer.NextLine(kNow), "456");
  EXPECT_EQ(num_resumed, 1);
  EXPECT_EQ(**buffer.NextLine(kNow), "789");
  EXPECT_EQ(num_resumed, 1);
}

TEST(LineBufferTest, IncompleteLineNeverHoldsWriter) {
  LineBuffer buffer({.max_line_bytes = 100, .high_water_bytes = 8});
  EXPECT_EQ(buffer.Append("longer than the high water mark", NeverCalled), Appended::kContinue);
}

TEST(LineBufferTest, CountsEmptyLinesToo) {
  LineBuffer buffer({.max_line_bytes = 100, .high_water_bytes = 8});
  EXPECT_EQ(buffer.Append(std::string(9, '\n'), [] {}), Appended::kHold);
}

TEST(LineBufferTest, CancelAndEndResumeHeldWriter) {
  for (const bool cancels : {true, false}) {
    LineBuffer buffer({.max_line_bytes = 100, .high_water_bytes = 1});
    int num_resumed = 0;
    EXPECT_EQ(buffer.Append("abc\n", [&] { ++num_resumed; }), Appended::kHold);
    cancels ? buffer.Cancel() : buffer.End(Unavailable("broken"));
    EXPECT_EQ(num_resumed, 1);
  }
}

TEST(LineBufferTest, CancelDropsLinesAndOverridesEnd) {
  LineBuffer buffer(kRoomy);
  buffer.Append("a\nb\n", NeverCalled);
  buffer.End({});
  buffer.Cancel();
  EXPECT_EQ(buffer.NextLine(kNow).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(buffer.ReadAll(kNow, 100).status().code(), StatusCode::kCancelled);
}

TEST(LineBufferTest, CancelWakesTheReader) {
  LineBuffer buffer(kRoomy);
  std::jthread canceller([&] { buffer.Cancel(); });
  EXPECT_EQ(buffer.NextLine(InTime()).status().code(), StatusCode::kCancelled);
}

TEST(LineBufferTest, ReadAllKeepsNewlines) {
  LineBuffer buffer(kRoomy);
  buffer.Append("a\nb", NeverCalled);
  std::jthread writer([&] {
    buffer.Append("c\nd", NeverCalled);
    buffer.End({});
  });
  EXPECT_EQ(*buffer.ReadAll(InTime(), 6), "a\nbc\nd");
}

TEST(LineBufferTest, ReadAllStopsAtLimit) {
  LineBuffer buffer(kRoomy);
  buffer.Append("a\nbc\nd", NeverCalled);
  buffer.End({});
  EXPECT_EQ(buffer.ReadAll(InTime(), 5).status().code(), StatusCode::kResourceExhausted);
}

TEST(LineBufferTest, ReadAllStopsAtDeadline) {
  LineBuffer buffer(kRoomy);
  buffer.Append("drip", NeverCalled);
  EXPECT_EQ(buffer.ReadAll(kNow, 100).status().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace espalier::ctl::client
