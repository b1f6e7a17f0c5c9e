// BatchStreamReader with samplers that violate the protocol.
#include "services/client/remote/batch_stream_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "espalier/minibatch/v1/minibatch.grpc.pb.h"
#include "services/base/testing/soon.h"
#include "services/client/remote/remote_mini_batch_source.h"
#include "services/rpc/server.h"

namespace espalier::client {
namespace {

constexpr uint32_t kBatchesAhead = 2;

// Sends one message more than the initial credits allow, then waits for the end of the stream.
class CreditIgnoringService final
    : public minibatch::v1::MiniBatchStream::WithRawCallbackMethod_Stream<minibatch::v1::MiniBatchStream::Service> {
 public:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext*) override {
    return new Answer(&cancelled_);
  }
  // Becomes ready when the stream has been canceled.
  std::future<void> Cancelled() { return cancelled_.get_future(); }

 private:
  class Answer final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Answer(std::promise<void>* cancelled) : cancelled_(cancelled) {
      const grpc::Slice slice(std::string("a mini-batch"));
      message_ = grpc::ByteBuffer(&slice, 1);
      StartWrite(&message_);
    }
    void OnWriteDone(bool ok) override {
      if (ok && ++num_sent_ <= kBatchesAhead) StartWrite(&message_);
    }
    void OnCancel() override {
      cancelled_->set_value();
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    std::promise<void>* const cancelled_;  // outlives this
    grpc::ByteBuffer message_;
    uint32_t num_sent_ = 0;
  };

  std::promise<void> cancelled_;
};

TEST(BatchStreamReaderTest, BatchWithoutCreditEndsStream) {
  CreditIgnoringService service;
  std::future<void> cancelled = service.Cancelled();
  const auto server = rpc::RpcServer::Start({}, {&service});
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const auto reader =
      BatchStreamReader::Open(std::make_shared<rpc::Peer>("sampler", (*server)->address(), rpc::ChannelSettings()),
                              minibatch::v1::StreamStart(), kBatchesAhead);
  ASSERT_EQ(cancelled.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  for (uint32_t i = 0; i < kBatchesAhead; ++i) EXPECT_TRUE(reader->Next(Soon()).ok());
  const Status ended = reader->Next(Soon()).status();
  EXPECT_EQ(ended.code(), StatusCode::kInternal) << ended.ToString();
  EXPECT_THAT(ended.message(), ::testing::HasSubstr("mini-batches: the sampler sent a mini-batch without a credit"));
}

TEST(RemoteMiniBatchSourceStartTest, MoreFanOutsThanOneMessageHoldsAreRefused) {
  const auto schema = graph::GraphSchema::Make({"a"}, {{"a", "to", "a"}});
  const auto book = graph::PartitionBook::Make(*schema, {{0, 10}}, {{0, 100}});
  ASSERT_TRUE(book.ok()) << book.status().ToString();
  sampler::SamplingSpec spec;
  for (int layer = 0; layer < 16; ++layer) {
    spec.layers.push_back(sampler::LayerSpec{.fanouts = std::vector<int32_t>(65'535, 1 << 20)});
  }
  RemoteMiniBatchOptions options;
  options.samplers = {"127.0.0.1:1"};
  const Status refused = RemoteMiniBatchSource::Make(*book, sampler::EpochPlan(), spec, options).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.ToString();
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("the fan-outs of 16 layers"));
}

}  // namespace
}  // namespace espalier::client
