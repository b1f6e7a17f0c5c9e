// Tests streams of lines over connections that are cut, slow or silent, and with very long or very many lines.
#include <gmock/gmock.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "operator/client/cpprest/testing/connect.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::milliseconds;

// Returns a behavior that responds to each request with the chunks that `write` sends.
MisbehavingServer::Behavior Streaming(std::function<void(ServerConnection&)> write) {
  return [write = std::move(write)](ServerConnection& connection) {
    while (connection.Read()) {
      connection.StartChunks();
      write(connection);
    }
  };
}

std::unique_ptr<LineStream> OpenStream(HttpTransport& transport) {
  Result<HttpTransport::Stream> stream = transport.Open(Get("/watch"), InTime());
  ESPALIER_CHECK(stream.ok()) << stream.status().ToString();
  ESPALIER_CHECK(stream->lines != nullptr);
  return std::move(stream->lines);
}

// All lines of a stream, and how it ended.
struct Everything {
  std::vector<std::string> lines;
  Status end;
};
Everything ReadEverything(LineStream& stream) {
  Everything everything;
  while (true) {
    Result<std::optional<std::string>> line = stream.Next(InTime());
    if (!line.ok()) everything.end = line.status();
    if (!line.ok() || !*line) return everything;
    everything.lines.push_back(**std::move(line));
  }
}

TEST(StreamTest, LinesDoNotDependOnChunks) {
  MisbehavingServer server(Streaming([](ServerConnection& connection) {
    for (const char* chunk : {"a\nb\nhal", "f of ", "c\n", "d", "\n"}) connection.Chunk(chunk);
    connection.EndChunks();
  }));
  const auto transport = Connect(PlainTo(server));
  const Everything got = ReadEverything(*OpenStream(*transport));
  EXPECT_THAT(got.lines, testing::ElementsAre("a", "b", "half of c", "d"));
  EXPECT_TRUE(got.end.ok()) << got.end.ToString();
}

TEST(StreamTest, ATailWithoutNewlineIsDropped) {
  MisbehavingServer server(Streaming([](ServerConnection& connection) {
    connection.Chunk("whole\nhal");
    connection.EndChunks();
  }));
  const auto transport = Connect(PlainTo(server));
  const Everything got = ReadEverything(*OpenStream(*transport));
  EXPECT_THAT(got.lines, testing::ElementsAre("whole"));
  EXPECT_TRUE(got.end.ok());
}

TEST(StreamTest, BrokenConnectionIsError) {
  for (const bool resets : {false, true}) {
    MisbehavingServer server([&](ServerConnection& connection) {
      connection.Read();
      connection.StartChunks();
      connection.Chunk("whole\n");
      connection.Chunk("hal");
      connection.ReadHead();  // returns when the server is stopped, after the client has read the line
      if (resets) connection.Reset();
    });
    const auto transport = Connect(PlainTo(server));
    const auto stream = OpenStream(*transport);
    EXPECT_EQ(**stream->Next(InTime()), "whole");
    server.Stop();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(stream->Next(InTime()).status().code(), StatusCode::kUnavailable);
  }
}

TEST(StreamTest, OtherStatusCodesReturnBody) {
  MisbehavingServer server([](ServerConnection& connection) {
    connection.Read();
    connection.Answer(410, "{\"reason\":\n\"Expired\"}");
    connection.AnswerAll();
  });
  const auto transport = Connect(PlainTo(server));
  const auto stream = transport->Open(Get("/watch"), InTime());
  ASSERT_TRUE(stream.ok()) << stream.status().ToString();
  EXPECT_EQ(stream->head.code, 410);
  EXPECT_EQ(stream->head.body, "{\"reason\":\n\"Expired\"}");
  EXPECT_EQ(stream->lines, nullptr);
}

TEST(StreamTest, RefreshesRejectedCredentials) {
  MisbehavingServer server([](ServerConnection& connection) {
    const auto request = connection.Read();
    if (!request) return;
    if (request->headers.at("authorization") == "Bearer old") {
      connection.Answer(401, "no");
      connection.AwaitClose();
    } else {
      connection.StartChunks();
      connection.Chunk("line\n");
      connection.AwaitClose();
    }
  });
  Connection connection = PlainTo(server);
  connection.credentials = std::make_shared<CredentialsInTurn>(std::vector{Token("old"), Token("new")});
  const auto transport = Connect(connection);
  EXPECT_EQ(**OpenStream(*transport)->Next(InTime()), "line");
}

TEST(StreamTest, DeadlineAppliesOnlyToOpening) {
  MisbehavingServer silent([](ServerConnection& connection) { connection.AwaitClose(); });
  EXPECT_EQ(Connect(PlainTo(silent))->Open(Get(), Deadline::After(milliseconds(50))).status().code(),
            StatusCode::kDeadlineExceeded);

  std::atomic<bool> may_go_on{false};
  MisbehavingServer server(Streaming([&](ServerConnection& connection) {
    connection.Write("");
    may_go_on.wait(false);
    connection.Chunk("late\n");
    connection.AwaitClose();
  }));
  const auto transport = Connect(PlainTo(server));
  const auto stream = OpenStream(*transport);
  EXPECT_EQ(stream->Next(Deadline::After(milliseconds(20))).status().code(), StatusCode::kDeadlineExceeded);
  may_go_on = true;
  may_go_on.notify_all();
  EXPECT_EQ(**stream->Next(InTime()), "late");
}

TEST(StreamTest, StopEndsOpeningButNotStream) {
  MisbehavingServer silent([](ServerConnection& connection) {
    connection.Read();
    connection.AwaitClose();
  });
  std::stop_source stop;
  std::jthread stopper([&] {
    silent.AwaitRequests(1);
    stop.request_stop();
  });
  EXPECT_EQ(Connect(PlainTo(silent))->Open(Get(), InTime(), stop.get_token()).status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(silent.AwaitNoConnections());

  std::stop_source later;
  MisbehavingServer server(Streaming([&](ServerConnection& connection) {
    connection.Chunk("one\n");
    connection.AwaitClose();
  }));
  const auto transport = Connect(PlainTo(server));
  Result<HttpTransport::Stream> stream = transport->Open(Get(), InTime(), later.get_token());
  ASSERT_TRUE(stream.ok()) << stream.status().ToString();
  later.request_stop();
  EXPECT_EQ(**stream->lines->Next(InTime()), "one");
}

TEST(StreamTest, TooLongLineEndsStreamAndClosesConnection) {
  MisbehavingServer server(Streaming([](ServerConnection& connection) {
    connection.Chunk("fits\n");
    const std::string chunk(64 << 10, 'x');
    while (connection.Chunk(chunk)) {
    }
  }));
  const auto transport = Connect(PlainTo(server), {.max_line_bytes = 1 << 20});
  const auto stream = OpenStream(*transport);
  EXPECT_EQ(**stream->Next(InTime()), "fits");
  EXPECT_EQ(stream->Next(InTime()).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(server.AwaitNoConnections());
}

TEST(StreamTest, ReturnsLongLinesWhole) {
  const std::string line(900 << 10, 'x');
  MisbehavingServer server(Streaming([&](ServerConnection& connection) {
    for (int i = 0; i < 20; ++i) connection.Chunk(line + std::to_string(i) + "\n");
    connection.EndChunks();
  }));
  const auto transport = Connect(PlainTo(server), {.high_water_bytes = 1});
  const Everything got = ReadEverything(*OpenStream(*transport));
  ASSERT_EQ(got.lines.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(got.lines[i], line + std::to_string(i));
}

TEST(StreamTest, SlowReaderHoldsServer) {
  constexpr size_t kNumLines = 4096;
  const std::string line(64 << 10, 'x');  // 256 MiB in all: more than the buffers of the kernel hold
  std::counting_semaphore<> sent(0);
  MisbehavingServer server(Streaming([&](ServerConnection& connection) {
    for (size_t i = 0; i < kNumLines && connection.Chunk(line + "\n"); ++i) sent.release();
    connection.EndChunks();
  }));
  const auto transport = Connect(PlainTo(server), {.high_water_bytes = 1 << 20});
  const auto stream = OpenStream(*transport);
  ASSERT_TRUE(sent.try_acquire_for(std::chrono::seconds(60)));
  // Waits until nothing was sent for a second. Without back-pressure all lines would have been sent.
  size_t num_sent = 1;
  while (sent.try_acquire_for(std::chrono::seconds(1))) ++num_sent;
  EXPECT_LT(num_sent, kNumLines / 4);
  const Everything got = ReadEverything(*stream);
  EXPECT_EQ(got.lines.size(), kNumLines);
  EXPECT_TRUE(got.end.ok()) << got.end.ToString();
}

TEST(StreamTest, CancelWakesReader) {
  MisbehavingServer server(Streaming([](ServerConnection& connection) {
    connection.Chunk("one\ntwo\n");
    connection.AwaitClose();
  }));
  const auto transport = Connect(PlainTo(server));
  const auto stream = OpenStream(*transport);
  EXPECT_EQ(**stream->Next(InTime()), "one");
  EXPECT_EQ(**stream->Next(InTime()), "two");
  std::jthread canceller([&] { stream->Cancel(); });
  EXPECT_EQ(stream->Next(InTime()).status().code(), StatusCode::kCancelled);
  canceller.join();
  stream->Cancel();
  EXPECT_EQ(stream->Next(InTime()).status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(server.AwaitNoConnections());
}

TEST(StreamTest, CancelAppliesAfterEnd) {
  MisbehavingServer server(Streaming([](ServerConnection& connection) { connection.EndChunks(); }));
  const auto transport = Connect(PlainTo(server));
  for (int i = 0; i < 2; ++i) {
    const auto stream = OpenStream(*transport);
    EXPECT_EQ(*stream->Next(InTime()), std::nullopt);
    stream->Cancel();
    EXPECT_EQ(stream->Next(InTime()).status().code(), StatusCode::kCancelled);
  }
  EXPECT_EQ(server.num_connections(), 1);
}

TEST(StreamTest, MayBeCancelledAtAnyMoment) {
  const std::string line(1000, 'x');
  MisbehavingServer server(Streaming([&](ServerConnection& connection) {
    while (connection.Chunk(line + "\n")) {
    }
  }));
  const auto transport = Connect(PlainTo(server), {.high_water_bytes = 100000});
  for (uint32_t round = 0; round < 200; ++round) {
    const auto stream = OpenStream(*transport);
    const uint32_t num_lines = (round * 2654435761u) >> 24;  // 0 to 255, the same in every run
    std::atomic<uint32_t> num_read{0};
    std::jthread canceller([&] {
      while (num_read.load() < num_lines) std::this_thread::yield();
      stream->Cancel();
    });
    Status end;
    while (end.ok()) {
      end = stream->Next(InTime()).status();
      ++num_read;
    }
    EXPECT_EQ(end.code(), StatusCode::kCancelled);
  }
  EXPECT_TRUE(server.AwaitNoConnections());
}

TEST(StreamTest, DestructorClosesConnection) {
  MisbehavingServer server(Streaming([](ServerConnection& connection) {
    connection.Chunk("a\nb\n");
    connection.AwaitClose();
  }));
  auto transport = Connect(PlainTo(server));
  auto stream = OpenStream(*transport);
  transport.reset();  // streams may outlive their transport
  EXPECT_EQ(**stream->Next(InTime()), "a");
  stream.reset();
  EXPECT_TRUE(server.AwaitNoConnections());
}

TEST(StreamTest, ManyStreamsDoNotStarveCalls) {
  constexpr int kNumStreams = 12;  // three times as many as the library has threads
  std::atomic<bool> may_go_on{false};
  MisbehavingServer server([&](ServerConnection& connection) {
    while (const auto request = connection.Read()) {
      if (request->target != "/watch") {
        connection.Answer(200, "ok");
        continue;
      }
      connection.StartChunks();
      may_go_on.wait(false);
      connection.Chunk("line\n");
      connection.EndChunks();
    }
  });
  const auto transport = Connect(PlainTo(server));
  std::vector<std::unique_ptr<LineStream>> streams;
  for (int i = 0; i < kNumStreams; ++i) streams.push_back(OpenStream(*transport));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(transport->Send(Post("{}"), InTime())->body, "ok");
  may_go_on = true;
  may_go_on.notify_all();
  for (const auto& stream : streams) EXPECT_THAT(ReadEverything(*stream).lines, testing::ElementsAre("line"));
}

}  // namespace
}  // namespace espalier::ctl::client
