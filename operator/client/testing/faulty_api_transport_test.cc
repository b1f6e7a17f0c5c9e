// Tests that random faults are reproducible, that every kind occurs, and that each has its effect on the server.
#include "operator/client/testing/faulty_api_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/client/testing/fake_api_server.h"
#include "operator/kube/watch_event.h"
#include "services/base/testing/soon.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;

kube::HttpRequest Create(int i) {
  return kube::CreateRequest(kube::kConfigMaps,
                             {{"apiVersion", "v1"},
                              {"kind", "ConfigMap"},
                              {"metadata", {{"name", "m" + std::to_string(i)}, {"namespace", "default"}}}},
                             "test");
}

std::string Said(const Result<HttpResponse>& answer) {
  return answer.ok() ? std::to_string(answer->code) : StatusCodeName(answer.status().code());
}

class FaultyApiTransportTest : public ::testing::Test {
 protected:
  FakeApiServer server_;
  std::unique_ptr<HttpTransport> inner_ = server_.Connect();
};

TEST_F(FaultyApiTransportTest, PassesRequestsThroughWithoutFaults) {
  FaultyApiTransport transport(*inner_);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Said(transport.Send(Create(i), Soon())), "201");
  EXPECT_EQ(transport.Count(ApiFault::kNone), 50);
}

TEST_F(FaultyApiTransportTest, FailsChosenRequestBeforeOrAfterServer) {
  FaultyApiTransport transport(*inner_);
  bool after = false;
  transport.SetFault([&](const kube::HttpRequest&, const HttpResponse* answer) -> std::optional<Result<HttpResponse>> {
    if ((answer != nullptr) != after) return std::nullopt;
    return Result<HttpResponse>(ErrorAnswer(403, "Forbidden", "not today"));
  });
  EXPECT_EQ(Said(transport.Send(Create(1), Soon())), "403");
  EXPECT_FALSE(server_.Find(kube::kConfigMaps, {"default", "m1"}).has_value());
  EXPECT_EQ(transport.num_writes(), 0);
  after = true;
  EXPECT_EQ(Said(transport.Send(Create(1), Soon())), "403");
  EXPECT_TRUE(server_.Find(kube::kConfigMaps, {"default", "m1"}).has_value());
  EXPECT_EQ(transport.num_writes(), 1);
  EXPECT_EQ(transport.num_calls(), 2);
}

TEST_F(FaultyApiTransportTest, SameSeedGivesSameFaults) {
  const auto day = [](uint32_t seed) {
    FakeApiServer server;
    const std::unique_ptr<HttpTransport> inner = server.Connect();
    FaultyApiTransport transport(*inner, {.percent_of_calls = 50, .seed = seed});
    std::vector<std::string> said;
    for (int i = 0; i < 50; ++i) said.push_back(Said(transport.Send(Create(i), Soon())));
    return said;
  };
  EXPECT_EQ(day(1), day(1));
  EXPECT_NE(day(1), day(2));
}

TEST_F(FaultyApiTransportTest, ProducesEveryFault) {
  FaultyApiTransport transport(*inner_, {.percent_of_calls = 100, .percent_of_watches = 100, .seed = 1});
  for (int i = 0; i < 200; ++i) {
    const Result<HttpResponse> created = transport.Send(Create(i), Soon());
    const Result<HttpResponse> deleted = transport.Send(
        kube::DeleteRequest(kube::kConfigMaps, {"default", "m" + std::to_string(i)}, {.uid = "x"}), Soon());
    EXPECT_FALSE(created.ok() && created->code == 201 && deleted.ok() && deleted->code == 200);
    const Result<HttpResponse> page =
        transport.Send(kube::ListRequest(kube::kConfigMaps, {.continue_token = "x"}), Soon());
    const Result<HttpTransport::Stream> stream = transport.Open(kube::WatchRequest(kube::kConfigMaps, {}), Soon());
    static_cast<void>(page.ok() && stream.ok());
  }
  for (int fault = 1; fault < kNumApiFaults; ++fault) {
    EXPECT_GT(transport.Count(static_cast<ApiFault>(fault)), 0) << fault;
  }
  EXPECT_EQ(transport.Count(ApiFault::kNone), 0);
}

TEST_F(FaultyApiTransportTest, LostResponseMeansDoneAndNotSentMeansNotDone) {
  FaultyApiTransport transport(*inner_, {.percent_of_calls = 100, .percent_of_watches = 100, .seed = 3});
  for (int i = 0; i < 100; ++i) {
    const int64_t lost = transport.Count(ApiFault::kLostAnswer), twice = transport.Count(ApiFault::kTwice);
    const Result<HttpResponse> answer = transport.Send(Create(i), Soon());
    const bool exists = server_.Find(kube::kConfigMaps, {"default", "m" + std::to_string(i)}).has_value();
    const bool is_done = transport.Count(ApiFault::kLostAnswer) > lost || transport.Count(ApiFault::kTwice) > twice;
    EXPECT_EQ(exists, is_done) << Said(answer);
    if (transport.Count(ApiFault::kTwice) > twice) {
      EXPECT_EQ(Said(answer), "409");
    }
  }
}

TEST_F(FaultyApiTransportTest, EndsWatchesInEveryWay) {
  for (int i = 0; i < 10; ++i) ASSERT_EQ(Said(inner_->Send(Create(i), Soon())), "201");
  FaultyApiTransport transport(*inner_, {.percent_of_calls = 100, .percent_of_watches = 100, .seed = 4});
  for (int i = 0; i < 100; ++i) {
    const int64_t expired = transport.Count(ApiFault::kExpired), broken = transport.Count(ApiFault::kBrokenStream);
    const Result<HttpTransport::Stream> stream = transport.Open(kube::WatchRequest(kube::kConfigMaps, {}), Soon());
    if (!stream.ok() || stream->lines == nullptr) continue;
    Result<std::optional<std::string>> line = stream->lines->Next(Soon());
    std::string last;
    for (; line.ok() && *line; line = stream->lines->Next(Soon())) last = **line;
    EXPECT_EQ(line.ok(), transport.Count(ApiFault::kBrokenStream) == broken);
    if (transport.Count(ApiFault::kExpired) > expired) {
      const Result<kube::WatchEvent> event = kube::ParseWatchEvent(last);
      ASSERT_TRUE(event.ok());
      EXPECT_EQ(event->type, kube::WatchEventType::kError);
    }
  }
}

}  // namespace
}  // namespace espalier::ctl::client
