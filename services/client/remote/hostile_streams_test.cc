// A sampler ends a stream with arbitrary messages with an error and serves the next stream.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/testing/soon.h"
#include "services/client/testing/served_samplers.h"
#include "services/messages/stream_messages.h"
#include "services/rpc/deadline.h"
#include "services/rpc/frame.h"
#include "services/rpc/status_map.h"
#include "services/server/limits.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;

// A client that sends these messages, half-closes the stream and reads all responses.
class RawStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  RawStream(rpc::Peer& sampler, std::vector<grpc::ByteBuffer> messages) : messages_(std::move(messages)) {
    context_.set_deadline(rpc::ToSystemTime(Soon()));
    sampler.stub.PrepareBidiStreamingCall(&context_, "/espalier.minibatch.v1.MiniBatchStream/Stream",
                                          grpc::StubOptions(), this);
    MutexLock lock(&mutex_);
    SendNext();
    StartRead(&incoming_);
    StartCall();
  }

  // Returns the status with which the sampler ends the stream.
  Status WaitForEnd() { return end_.get_future().get(); }
  // Set when the stream has ended.
  int num_batches() {
    MutexLock lock(&mutex_);
    return num_batches_;
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    if (ok) SendNext();
  }
  void OnReadDone(bool ok) override {
    MutexLock lock(&mutex_);
    if (!ok) return;
    ++num_batches_;
    StartRead(&incoming_);
  }
  void OnDone(const grpc::Status& status) override { end_.set_value(rpc::FromGrpc(status)); }

 private:
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (num_sent_ == messages_.size()) return StartWritesDone();
    StartWrite(&messages_[num_sent_++]);
  }

  grpc::ClientContext context_;
  std::vector<grpc::ByteBuffer> messages_;
  grpc::ByteBuffer incoming_;
  std::promise<Status> end_;
  Mutex mutex_;
  size_t num_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_batches_ ABSL_GUARDED_BY(mutex_) = 0;
};

class HostileStreamsTest : public ::testing::Test {
 protected:
  Status EndAfter(std::vector<grpc::ByteBuffer> messages) {
    return RawStream(*sampler_, std::move(messages)).WaitForEnd();
  }

  grpc::ByteBuffer Start(uint32_t credits) {
    const auto& split = graph_->description().splits.front();
    const sampler::EpochPlan plan{.seed_type = split.node_type, .split = split.split, .batch_size = 10};
    sampler::SamplingSpec spec;
    spec.layers.push_back(
        sampler::LayerSpec{.fanouts = std::vector<int32_t>(graph_->book().schema().num_edge_types(), 3)});
    minibatch::v1::StreamRequest request;
    *request.mutable_start() = messages::EncodeStart(plan, spec);
    request.mutable_start()->mutable_identity()->set_partition_key(testing::kPartitionKey);
    request.mutable_start()->set_stride(1);
    request.set_more_credits(credits);
    return rpc::EncodeFrame(std::move(request), {});
  }

  static grpc::ByteBuffer Credits(uint32_t credits) {
    minibatch::v1::StreamRequest request;
    request.set_more_credits(credits);
    return rpc::EncodeFrame(std::move(request), {});
  }

  void ExpectTheNextStreamIsServed() {
    RawStream stream(*sampler_, {Start(200)});
    EXPECT_EQ(stream.WaitForEnd().code(), StatusCode::kOutOfRange);
    EXPECT_GT(stream.num_batches(), 4);
  }

  const std::shared_ptr<sampler::PartitionedGraph> graph_ =
      shard::testing::MakeTestGraph(testing::SmallGraph(), 2, 4).graph;
  testing::ServedSamplers samplers_{graph_, 1};
  const std::shared_ptr<rpc::Peer> sampler_ =
      std::make_shared<rpc::Peer>("sampler", samplers_.addresses().front(), rpc::ChannelSettings());
};

TEST_F(HostileStreamsTest, GarbageIsInvalid) {
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(1000, '\xff'), std::string(64, '\0')}) {
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer garbage(&slice, 1);
    EXPECT_EQ(EndAfter({garbage}).code(), StatusCode::kInvalidArgument) << bytes.size();
    EXPECT_EQ(EndAfter({Start(0), garbage}).code(), StatusCode::kInvalidArgument) << bytes.size();
  }
  ExpectTheNextStreamIsServed();
}

TEST_F(HostileStreamsTest, AStreamStartsOnceWithItsFirstMessage) {
  const Status silent = EndAfter({});
  EXPECT_EQ(silent.code(), StatusCode::kInvalidArgument) << silent.ToString();
  EXPECT_THAT(silent.message(), HasSubstr("the stream ended before a start message"));
  for (const std::vector<grpc::ByteBuffer>& messages :
       {std::vector<grpc::ByteBuffer>{Credits(1)}, std::vector<grpc::ByteBuffer>{Start(0), Start(0)}}) {
    const Status refused = EndAfter(messages);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.ToString();
    EXPECT_THAT(refused.message(), HasSubstr("expected the start of the stream in its first message, and in no other"));
  }
  ExpectTheNextStreamIsServed();
}

TEST_F(HostileStreamsTest, MoreCreditsThanAStreamMayHoldAreRefused) {
  const uint32_t most = server::ServiceLimits().max_batches_ahead;
  for (const std::vector<grpc::ByteBuffer>& messages :
       {std::vector<grpc::ByteBuffer>{Start(most + 1)}, std::vector<grpc::ByteBuffer>{Start(~uint32_t{0})},
        std::vector<grpc::ByteBuffer>{Start(0), Credits(most + 1)}}) {
    const Status refused = EndAfter(messages);
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.ToString();
    EXPECT_THAT(refused.message(), HasSubstr(" credits, the limit is 256"));
  }
  ExpectTheNextStreamIsServed();
}

}  // namespace
}  // namespace espalier::client
