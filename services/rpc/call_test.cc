// Retried calls: stop requests, metrics, replicas, and release of resources.
#include "services/rpc/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "espalier/graph/v1/graph.grpc.pb.h"
#include "services/rpc/server.h"
#include "services/rpc/server_answer.h"
#include "services/rpc/status_map.h"
#include "services/rpc/testing/health_check.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::rpc {
namespace {

using std::chrono::seconds;
using testing::Empty;
using ::testing::HasSubstr;
using testing::kHealth;
using ::testing::Not;

// An address that refuses connections, or accepts them and never responds.
class DeafAddress {
 public:
  enum class Kind { kRefuses, kNeverAnswers };
  explicit DeafAddress(Kind kind) {
    const auto socket = telemetry::ListenOn("127.0.0.1:0");
    ESPALIER_CHECK(socket.ok()) << socket.status().ToString();
    address_ = socket->address;
    descriptor_ = socket->descriptor;
    if (kind == Kind::kRefuses) close(std::exchange(descriptor_, -1));
  }
  ~DeafAddress() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  int descriptor_ = -1;
};

std::shared_ptr<Peer> StoppablePeer(const std::string& address, const std::stop_source& stop) {
  ChannelSettings settings;
  settings.stop = stop.get_token();
  return std::make_shared<Peer>("server", address, settings);
}

TEST(CallTest, StopEndsCallAtOnce) {
  for (const DeafAddress::Kind kind : {DeafAddress::Kind::kRefuses, DeafAddress::Kind::kNeverAnswers}) {
    for (const bool by_deadline : {false, true}) {
      const DeafAddress deaf(kind);
      std::stop_source stop, never;
      const Deadline deadline = Deadline::After(std::chrono::hours(1)).OrStop((by_deadline ? stop : never).get_token());
      std::promise<Status> ended;
      CallWithRetries(StoppablePeer(deaf.address(), by_deadline ? never : stop), kHealth, Empty(), deadline,
                      [&](const Result<grpc::ByteBuffer>& reply) { ended.set_value(reply.status()); });
      stop.request_stop();

      std::future<Status> end = ended.get_future();
      ASSERT_EQ(end.wait_for(seconds(60)), std::future_status::ready);
      const Status status = end.get();
      EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
      EXPECT_THAT(status.message(), HasSubstr(deaf.address()));
      EXPECT_THAT(status.message(),
                  HasSubstr(by_deadline ? "the call was cancelled" : "the process was asked to stop"));
    }
  }
}

TEST(CallTest, CancelledCallDoesNotMarkReplica) {
  const DeafAddress silent(DeafAddress::Kind::kNeverAnswers), other(DeafAddress::Kind::kNeverAnswers);
  const std::stop_source never;
  const auto replicas = std::make_shared<Replicas>(
      std::vector{StoppablePeer(silent.address(), never), StoppablePeer(other.address(), never)},
      std::vector{true, false});
  for (int call = 0; call < 3; ++call) {
    std::stop_source stop;
    std::promise<Status> ended;
    CallWithRetries(replicas, kHealth, Empty(), Deadline::After(std::chrono::hours(1)).OrStop(stop.get_token()),
                    [&](const Result<grpc::ByteBuffer>& reply) { ended.set_value(reply.status()); });
    stop.request_stop();
    const Status status = ended.get_future().get();
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
    EXPECT_THAT(status.message(), HasSubstr(silent.address()));  // the near one, each time
  }
}

TEST(CallTest, ManyCallsEndTogether) {
  const DeafAddress deaf(DeafAddress::Kind::kRefuses);
  std::stop_source stop;
  const auto peer = StoppablePeer(deaf.address(), stop);
  std::vector<std::promise<Status>> ended(200);
  std::vector<std::future<Status>> ends;
  for (auto& end : ended) {
    ends.push_back(end.get_future());
    CallWithRetries(peer, kHealth, Empty(), Deadline::After(std::chrono::hours(1)),
                    [&end](const Result<grpc::ByteBuffer>& reply) { end.set_value(reply.status()); });
    if (ends.size() == 150) stop.request_stop();
  }
  for (auto& end : ends) {
    ASSERT_EQ(end.wait_for(seconds(60)), std::future_status::ready);
    EXPECT_EQ(end.get().code(), StatusCode::kCancelled);
  }
}

TEST(CallTest, DoesNotStartAfterStop) {
  static graph::v1::GraphStore::CallbackService service;
  const auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok());
  std::stop_source stop;
  const auto peer = StoppablePeer((*server)->address(), stop);
  EXPECT_TRUE(CallAndWait(peer, kHealth, Empty(), Deadline::After(seconds(60))).ok());
  stop.request_stop();
  EXPECT_EQ(CallAndWait(peer, kHealth, Empty(), Deadline::After(seconds(60))).status().code(), StatusCode::kCancelled);
}

TEST(CallTest, CountsCallsTriesAndBytes) {
  static graph::v1::GraphStore::CallbackService service;
  const auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok());
  const DeafAddress deaf(DeafAddress::Kind::kRefuses);
  const auto registry = std::make_shared<telemetry::MetricRegistry>();
  ChannelSettings settings;
  settings.metrics = std::make_shared<CallMetrics>(registry);

  const Deadline minute = Deadline::After(seconds(60));
  EXPECT_TRUE(
      CallAndWait(std::make_shared<Peer>("server", (*server)->address(), settings), kHealth, Empty(), minute).ok());
  const auto refusing = std::make_shared<Peer>("server", deaf.address(), settings);
  refusing->retry.max_attempts = 2;
  (void)CallAndWait(refusing, kHealth, Empty(), minute).status();

  const std::string text = registry->Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_client_calls_total{code=\"OK\",method=\"Check\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("espalier_client_calls_total{code=\"UNAVAILABLE\",method=\"Check\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("espalier_client_call_seconds_count{method=\"Check\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("espalier_client_reply_bytes_total{method=\"Check\"} 2\n"));  // SERVING
  EXPECT_THAT(text, HasSubstr("espalier_client_retries_total{cause=\"no_answer\",method=\"Check\"} 1\n"));
}

// The counter shows an outage while it lasts.
TEST(CallTest, CountsRetriesOfRunningCall) {
  const DeafAddress deaf(DeafAddress::Kind::kRefuses);
  const auto registry = std::make_shared<telemetry::MetricRegistry>();
  std::stop_source stop;
  ChannelSettings settings;
  settings.stop = stop.get_token();
  settings.metrics = std::make_shared<CallMetrics>(registry);
  const auto peer = std::make_shared<Peer>("server", deaf.address(), settings);
  peer->retry.initial_delay = peer->retry.max_delay = std::chrono::milliseconds(10);
  std::promise<Status> ended;
  std::future<Status> end = ended.get_future();
  CallWithRetries(peer, kHealth, Empty(), Deadline::After(std::chrono::hours(1)),
                  [&](const Result<grpc::ByteBuffer>& reply) { ended.set_value(reply.status()); });

  const auto has_retried = [&] {
    const std::string text = registry->Serialize();
    const std::string series = "espalier_client_retries_total{cause=\"no_answer\",method=\"Check\"} ";
    const size_t at = text.find(series);
    return at != std::string::npos && text[at + series.size()] != '0';
  };
  const Deadline minute = Deadline::After(seconds(60));
  while (!has_retried() && !minute.HasPassed()) std::this_thread::yield();
  EXPECT_TRUE(has_retried());
  EXPECT_THAT(registry->Serialize(), Not(HasSubstr("espalier_client_calls_total")));

  stop.request_stop();
  ASSERT_EQ(end.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_EQ(end.get().code(), StatusCode::kCancelled);
}

// Responds "not yet" to the first call, as a server does, and serves the next one.
class NotReadyService final : public graph::v1::GraphStore::CallbackService {
 public:
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const graph::v1::DescribeRequest*,
                                     graph::v1::DescribeResponse*) override {
    const Status answer = num_calls_.fetch_add(1) == 0 ? Unavailable("it is being made") : Status();
    MarkAsAnswer(*context, answer);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(answer));
    return reactor;
  }

 private:
  std::atomic<int> num_calls_ = 0;
};

// Alerts count only servers that do not respond.
TEST(CallTest, RetryLaterCountsAsResponse) {
  NotReadyService service;
  const auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok());
  const auto registry = std::make_shared<telemetry::MetricRegistry>();
  ChannelSettings settings;
  settings.metrics = std::make_shared<CallMetrics>(registry);
  const auto peer = std::make_shared<Peer>("server", (*server)->address(), settings);
  const auto reply = CallAndWait(peer, "/espalier.graph.v1.GraphStore/Describe", Empty(), Deadline::After(seconds(60)));
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();

  const std::string text = registry->Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_client_retries_total{cause=\"no_answer\",method=\"Describe\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("espalier_client_retries_total{cause=\"not_yet\",method=\"Describe\"} 1\n"));
}

class ReplicatedCallTest : public ::testing::Test {
 protected:
  static std::shared_ptr<Replicas> ReplicasAt(const std::vector<std::string>& addresses,
                                              const ChannelSettings& settings) {
    std::vector<std::shared_ptr<Peer>> peers;
    for (const std::string& address : addresses) peers.push_back(std::make_shared<Peer>("server", address, settings));
    // An unreachable server rests for the whole test.
    const ReplicaBackoff rest{.first = std::chrono::hours(1), .longest = std::chrono::hours(1)};
    return std::make_shared<Replicas>(std::move(peers), std::vector<bool>(addresses.size()), rest);
  }
};

TEST_F(ReplicatedCallTest, TriesNextReplicaAtOnceAndSkipsUnreachableOnes) {
  static graph::v1::GraphStore::CallbackService service;
  const auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok());
  const DeafAddress first(DeafAddress::Kind::kRefuses), second(DeafAddress::Kind::kRefuses);
  const auto registry = std::make_shared<telemetry::MetricRegistry>();
  ChannelSettings settings;
  settings.metrics = std::make_shared<CallMetrics>(registry);
  const auto replicas = ReplicasAt({first.address(), second.address(), (*server)->address()}, settings);
  // With a backoff between attempts the call would miss the deadline.
  for (const auto& peer : replicas->peers) peer->retry.initial_delay = peer->retry.max_delay = std::chrono::hours(1);

  for (int call = 0; call < 5; ++call) {
    const auto reply = CallAndWait(replicas, kHealth, Empty(), Deadline::After(seconds(60)));
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
  }

  const std::string text = registry->Serialize();
  EXPECT_THAT(text, HasSubstr("espalier_client_calls_total{code=\"OK\",method=\"Check\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("espalier_client_retries_total{cause=\"no_answer\",method=\"Check\"} 2\n"));
}

TEST_F(ReplicatedCallTest, SkipsSilentReplicaAfterTimeout) {
  static graph::v1::GraphStore::CallbackService service;
  const auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok());
  const DeafAddress silent(DeafAddress::Kind::kNeverAnswers);
  const auto replicas = ReplicasAt({silent.address(), (*server)->address()}, {});
  const Status first = CallAndWait(replicas, kHealth, Empty(), Deadline::After(seconds(1))).status();
  EXPECT_THAT(first.message(), HasSubstr(silent.address()));
  for (int call = 0; call < 5; ++call) {
    EXPECT_TRUE(CallAndWait(replicas, kHealth, Empty(), Deadline::After(seconds(60))).ok());
  }
}

TEST_F(ReplicatedCallTest, WithoutResponseItEndsAtTheDeadline) {
  const DeafAddress first(DeafAddress::Kind::kRefuses), second(DeafAddress::Kind::kRefuses);
  const auto replicas = ReplicasAt({first.address(), second.address()}, {});
  const Status status = CallAndWait(replicas, kHealth, Empty(), Deadline::After(seconds(1))).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("tries)"));
}

TEST_F(ReplicatedCallTest, ReturnsErrorsOfServer) {
  static graph::v1::GraphStore::CallbackService service;
  const auto server = RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok());
  const auto replicas = ReplicasAt({(*server)->address(), (*server)->address()}, {});
  const Status status =
      CallAndWait(replicas, "/no.such.Service/Method", Empty(), Deadline::After(seconds(60))).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status.ToString();
  EXPECT_TRUE(replicas->choice.HasAvailableServer());
}

// The backoff holds a reference to the call; after the response nothing does.
TEST(CallTest, ReleasesStateAfterRetries) {
  const DeafAddress deaf(DeafAddress::Kind::kRefuses);
  std::stop_source never;
  std::promise<void> gone;
  std::shared_ptr<int> state(new int(0), [&](const int* number) {
    delete number;
    gone.set_value();
  });
  std::promise<Status> ended;
  const auto peer = StoppablePeer(deaf.address(), never);
  peer->retry.max_attempts = 2;
  CallWithRetries(
      peer, kHealth, Empty(), Deadline::After(seconds(60)),
      [state = std::move(state), &ended](const Result<grpc::ByteBuffer>& reply) { ended.set_value(reply.status()); });
  const Status status = ended.get_future().get();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("(2 tries)"));
  EXPECT_EQ(gone.get_future().wait_for(seconds(60)), std::future_status::ready);
}

}  // namespace
}  // namespace espalier::rpc
