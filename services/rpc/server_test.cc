// Servers and calls over real sockets on free ports.
#include "services/rpc/server.h"
#include "services/base/host_port.h"
#include "services/rpc/testing/health_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <future>

#include "espalier/graph/v1/graph.grpc.pb.h"
#include "services/base/mutex.h"
#include "services/base/testing/soon.h"
#include "services/rpc/call.h"

namespace espalier::rpc {
namespace {

using std::chrono::seconds;
using testing::Empty;
using ::testing::HasSubstr;
using testing::kHealth;

std::shared_ptr<Peer> PeerAt(const std::string& address) {
  return std::make_shared<Peer>("server", address, ChannelSettings());
}

// A server with a service: gRPC does not serve without one.
Result<std::unique_ptr<RpcServer>> StartOn(const ServerOptions& options) {
  static graph::v1::GraphStore::CallbackService service;
  return RpcServer::Start(options, {&service});
}

// Holds every call until the test finishes one.
class HoldsCalls final
    : public graph::v1::GraphStore::WithRawCallbackMethod_GatherRows<graph::v1::GraphStore::Service> {
 public:
  static constexpr const char* kMethod = "/espalier.graph.v1.GraphStore/GatherRows";

  grpc::ServerUnaryReactor* GatherRows(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                       grpc::ByteBuffer*) override {
    MutexLock lock(&mutex_);
    held_.push_back(context->DefaultReactor());
    max_at_once_ = std::max(max_at_once_, held_.size());
    return held_.back();
  }

  // Blocks until this many calls have arrived; returns whether they have.
  bool AwaitCalls(size_t count) {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Soon(),
                              [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return held_.size() >= count; });
  }
  // Finishes the first held call, or the next one, with NOT_FOUND.
  void AnswerOne() {
    if (!AwaitCalls(1)) return;
    grpc::ServerUnaryReactor* first = nullptr;
    {
      MutexLock lock(&mutex_);
      first = held_.front();
      held_.pop_front();
    }
    first->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "answered"));
  }
  size_t max_at_once() {
    MutexLock lock(&mutex_);
    return max_at_once_;
  }

 private:
  Mutex mutex_;
  std::deque<grpc::ServerUnaryReactor*> held_ ABSL_GUARDED_BY(mutex_);
  size_t max_at_once_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::string ReplyBytes(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

TEST(RpcServerTest, PicksAFreePortAndAnswersHealthChecks) {
  const auto server = StartOn({});
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  EXPECT_NE(ParseHostPort((*server)->address())->port, 0);

  const auto health = CallAndWait(PeerAt((*server)->address()), kHealth, Empty(), Deadline::After(seconds(20)));

  ASSERT_TRUE(health.ok()) << health.status().ToString();
  EXPECT_EQ(ReplyBytes(*health), std::string("\x08\x01"));  // status: SERVING
}

TEST(RpcServerTest, ReportsTakenPort) {
  const auto first = StartOn({});
  ASSERT_TRUE(first.ok());

  const auto second = StartOn({.listen = (*first)->address()});

  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr((*first)->address()));
}

TEST(RpcServerTest, ListensForOtherHostsOnlyIfAllowed) {
  const auto refused = RpcServer::Start({.listen = "0.0.0.0:0"}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("--insecure-listen-any"));

  EXPECT_TRUE(StartOn({.listen = "0.0.0.0:0", .allow_other_hosts = true}).ok());
}

// Clusters have IPv4, IPv6 or both: one listen address must work for all.
TEST(RpcServerTest, WildcardAddressServesIpv4) {
  const auto server = StartOn({.listen = "[::]:0", .allow_other_hosts = true});
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const std::string address = ToString(HostPort{"127.0.0.1", ParseHostPort((*server)->address())->port});

  const auto health = CallAndWait(PeerAt(address), kHealth, Empty(), Deadline::After(seconds(20)));

  EXPECT_TRUE(health.ok()) << health.status().ToString();
}

TEST(RpcServerTest, RefusesInvalidAddresses) {
  EXPECT_EQ(RpcServer::Start({.listen = "7000"}, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(RpcServerTest, CallsBeyondTheLimitOfAConnectionWaitAtTheClient) {
  std::vector<std::promise<Status>> answers(6);
  HoldsCalls service;
  const auto server = RpcServer::Start({.max_concurrent_streams = 2}, {&service});
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const auto peer = PeerAt((*server)->address());
  for (std::promise<Status>& answer : answers) {
    CallOnce(peer, HoldsCalls::kMethod, Empty(), Soon(),
             [&answer](const Result<grpc::ByteBuffer>& reply) { answer.set_value(reply.status()); });
  }

  EXPECT_TRUE(service.AwaitCalls(2));
  // The limit is per connection.
  EXPECT_TRUE(CallAndWait(PeerAt((*server)->address()), kHealth, Empty(), Soon()).ok());
  for (size_t i = 0; i < answers.size(); ++i) service.AnswerOne();

  for (std::promise<Status>& answer : answers) EXPECT_EQ(answer.get_future().get().code(), StatusCode::kNotFound);
  EXPECT_EQ(service.max_at_once(), 2u);
}

TEST(RpcServerTest, RefusesCallsAfterDraining) {
  const auto server = StartOn({});
  ASSERT_TRUE(server.ok());
  const std::string address = (*server)->address();
  (*server)->Drain(Deadline::After(seconds(5)));
  (*server)->Drain(Deadline::After(seconds(5)));

  const auto peer = PeerAt(address);
  peer->retry.max_attempts = 1;
  const auto health = CallAndWait(peer, kHealth, Empty(), Deadline::After(seconds(60)));

  EXPECT_EQ(health.status().code(), StatusCode::kUnavailable);
}

TEST(CallTest, FailsAtDeadlineNamingServer) {
  std::string address;
  {
    const auto gone = StartOn({});
    ASSERT_TRUE(gone.ok());
    address = (*gone)->address();
  }

  // Long enough for one attempt to end, whose error is then returned.
  const auto reply = CallAndWait(PeerAt(address), kHealth, Empty(), Deadline::After(seconds(3)));

  EXPECT_EQ(reply.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(reply.status().message(), HasSubstr("server at " + address + ", Check ("));
}

TEST(CallTest, WaitsForStartingServer) {
  std::string address;
  {
    const auto gone = StartOn({});
    ASSERT_TRUE(gone.ok());
    address = (*gone)->address();
  }
  std::promise<Result<grpc::ByteBuffer>> promise;
  CallWithRetries(PeerAt(address), kHealth, Empty(), Deadline::After(seconds(60)),
                  [&](Result<grpc::ByteBuffer> reply) { promise.set_value(std::move(reply)); });

  const auto restarted = StartOn({.listen = address});

  ASSERT_TRUE(restarted.ok()) << restarted.status().ToString();
  const Result<grpc::ByteBuffer> reply = promise.get_future().get();
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
}

TEST(CallTest, DoesNotRetryRefusedCalls) {
  const auto server = StartOn({});
  ASSERT_TRUE(server.ok());

  const auto reply =
      CallAndWait(PeerAt((*server)->address()), "/no.such.Service/Method", Empty(), Deadline::After(seconds(20)));

  EXPECT_EQ(reply.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(reply.status().message(), ::testing::Not(HasSubstr("tries")));
}

}  // namespace
}  // namespace espalier::rpc
