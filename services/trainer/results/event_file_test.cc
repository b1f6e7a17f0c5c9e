#include "services/trainer/results/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "espalier/events/v1/event.pb.h"

namespace espalier::trainer {
namespace {

template <class T>
T NumberAt(const std::string& bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof(T));
  return number;
}

TEST(EventFileTest, MatchesPublishedChecksums) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(EventFileTest, FramesAnEvent) {
  const std::string record = ScalarsRecord({1.5, 7, {{"train/loss", 0.25}}});
  const auto length = NumberAt<uint64_t>(record, 0);
  ASSERT_EQ(record.size(), 8 + 4 + length + 4);
  const auto masked = [](uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; };
  EXPECT_EQ(NumberAt<uint32_t>(record, 8), masked(Crc32c(record.substr(0, 8))));
  EXPECT_EQ(NumberAt<uint32_t>(record, 12 + length), masked(Crc32c(record.substr(12, length))));

  events::v1::Event event;
  ASSERT_TRUE(event.ParseFromString(record.substr(12, length)));
  EXPECT_EQ(event.wall_time(), 1.5);
  EXPECT_EQ(event.step(), 7);
  ASSERT_EQ(event.summary().value_size(), 1);
  EXPECT_EQ(event.summary().value(0).tag(), "train/loss");
  EXPECT_EQ(event.summary().value(0).simple_value(), 0.25f);
}

// Compares the bytes to TensorBoard's field numbers, which other implementations read.
TEST(EventFileTest, HasTensorBoardsFieldNumbers) {
  const std::string header = EventFileHeader(0);
  EXPECT_EQ(header.substr(12, header.size() - 16), std::string("\x1A\x0D") + "brain.Event:2");
  const std::string record = ScalarsRecord({0, 3, {{"a", 1}}});
  EXPECT_EQ(record.substr(12, record.size() - 16), std::string("\x10\x03\x2A\x0A\x0A\x08\x0A\x01"
                                                               "a\x15\x00\x00\x80\x3F",
                                                               14));
}

TEST(EventFileTest, HasNameThatTensorBoardFinds) {
  EXPECT_EQ(EventFileName(3), "events.out.tfevents.0000000003.espalier");
}

}  // namespace
}  // namespace espalier::trainer
