#include "services/runner/launch/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace espalier::launch {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

// A pipe for one direction of a connection.
struct OneWay {
  OneWay() { ESPALIER_CHECK(pipe(ends) == 0) << "no pipe"; }
  ~OneWay() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  void EndWriting() {
    close(ends[1]);
    ends[1] = -1;
  }
  int ends[2];
};

void WriteRaw(int descriptor, const std::string& bytes) {
  ASSERT_EQ(write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

TEST(MessageTest, RoundTripsInAnyPieces) {
  const Message sent{{{"do", "start"}, {"life", 7}, {"hasReadyFile", true}}, std::string("\0\n\xff", 3)};
  const std::string bytes = Encode(sent) + Encode({{{"do", "ping"}}});
  MessageDecoder decoder;
  std::vector<Message> received;
  for (const char c : bytes) {
    decoder.Feed({&c, 1});
    auto message = decoder.Next();
    ASSERT_TRUE(message.ok());
    if (message->has_value()) received.push_back(**std::move(message));
  }
  ASSERT_THAT(received, SizeIs(2));
  EXPECT_EQ(received[0].head, sent.head);
  EXPECT_EQ(received[0].body, sent.body);
  EXPECT_EQ(received[1].Text("do"), "ping");
}

TEST(MessageTest, FieldsOfAnotherTypeAreDefaults) {
  const Message message{{{"a", 1}, {"b", "x"}, {"c", nullptr}}};
  EXPECT_EQ(message.Text("a"), "");
  EXPECT_EQ(message.Number("b"), 0);
  EXPECT_FALSE(message.Flag("c"));
  EXPECT_EQ(message.Text("none"), "");
}

TEST(MessageTest, RefusesInvalidLengthBeforeAllocation) {
  MessageDecoder decoder;
  decoder.Feed(std::string("\xff\xff\xff\xff\0\0\0\0", 8));
  EXPECT_EQ(decoder.Next().status().code(), StatusCode::kInvalidArgument);
}

TEST(MessageTest, RefusesHeadThatIsNotObject) {
  for (const std::string head : {"[]", "{", "\xff"}) {
    MessageDecoder decoder;
    decoder.Feed(std::string{static_cast<char>(head.size()), 0, 0, 0, 0, 0, 0, 0} + head);
    EXPECT_EQ(decoder.Next().status().code(), StatusCode::kInvalidArgument) << head;
  }
}

TEST(MessagePipeTest, SkipsOutputOfShell) {
  OneWay in, out;
  MessagePipe pipe(in.ends[0], out.ends[1], MessagePipe::Greeting::kExpected);
  WriteRaw(in.ends[1], "Welcome!\nespalier ho");
  EXPECT_THAT(*pipe.Receive(), SizeIs(0));
  WriteRaw(in.ends[1], "st 1\n" + Encode({{{"is", "hello"}}}));
  const auto messages = pipe.Receive();
  ASSERT_THAT(*messages, SizeIs(1));
  EXPECT_EQ(messages->front().Text("is"), "hello");
}

TEST(MessagePipeTest, LimitsOutputOfShell) {
  OneWay in, out;
  MessagePipe pipe(in.ends[0], out.ends[1], MessagePipe::Greeting::kExpected);
  const std::jthread shell([&] {
    const std::string noise(1000, 'x');
    for (int i = 0; i < 100 && write(in.ends[1], noise.data(), noise.size()) > 0; ++i) continue;
    in.EndWriting();
  });
  Status status;
  while (status.ok()) status = pipe.Receive().status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(MessagePipeTest, ReportsClosedPeer) {
  OneWay in, out;
  MessagePipe pipe(in.ends[0], out.ends[1], MessagePipe::Greeting::kNone);
  WriteRaw(in.ends[1], Encode({{{"is", "log"}}}));
  in.EndWriting();
  EXPECT_THAT(*pipe.Receive(), SizeIs(1));  // the message before the end is returned
  EXPECT_EQ(pipe.Receive().status().code(), StatusCode::kUnavailable);
}

TEST(MessagePipeTest, SendsLargeMessageThroughSmallPipe) {
  OneWay way, back;
  MessagePipe sender(back.ends[0], way.ends[1], MessagePipe::Greeting::kNone);
  MessagePipe receiver(way.ends[0], back.ends[1], MessagePipe::Greeting::kNone);
  const std::string body(3 << 20, 'b');
  Status sent;
  std::vector<Message> received;
  {
    const std::jthread sending([&] { sent = sender.Send({{{"do", "block"}}, body}, Soon()); });
    for (const Deadline deadline = Soon(); received.empty() && !deadline.HasPassed();) received = *receiver.Receive();
  }
  EXPECT_TRUE(sent.ok()) << sent.ToString();
  ASSERT_THAT(received, SizeIs(1));
  EXPECT_EQ(received[0].body, body);
}

TEST(MessagePipeTest, SendFailsIfPeerDoesNotRead) {
  OneWay in, out;
  MessagePipe pipe(in.ends[0], out.ends[1], MessagePipe::Greeting::kNone);
  const Message large{{{"do", "block"}}, std::string(1 << 20, 'b')};
  const Status sent = pipe.Send(large, Deadline::After(std::chrono::milliseconds(0)));
  EXPECT_EQ(sent.code(), StatusCode::kUnavailable);
  EXPECT_THAT(sent.message(), HasSubstr("does not read any more"));
}

}  // namespace
}  // namespace espalier::launch
