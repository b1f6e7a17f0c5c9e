// Programs whose samplers are of another version: mini-batches that were sampled with other options than requested are
// rejected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "espalier/minibatch/v1/minibatch.grpc.pb.h"
#include "services/client/loaders/node_data_loader.h"
#include "services/client/testing/ranks.h"
#include "services/messages/mini_batch_messages.h"
#include "services/rpc/frame.h"
#include "services/rpc/server.h"
#include "services/sampler/batches/local_mini_batch_source.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::client {
namespace {

using sampler::MiniBatch;
using ::testing::HasSubstr;

// Responds to each stream with one message, regardless of the request.
class SendsOneMessage final
    : public minibatch::v1::MiniBatchStream::WithRawCallbackMethod_Stream<minibatch::v1::MiniBatchStream::Service> {
 public:
  explicit SendsOneMessage(grpc::ByteBuffer message) : message_(std::move(message)) {}
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext*) override {
    return new Answer(message_);
  }

 private:
  class Answer final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Answer(const grpc::ByteBuffer& message) : message_(message) {
      StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status());
    }
    void OnDone() override { delete this; }

   private:
    const grpc::ByteBuffer message_;
  };

  const grpc::ByteBuffer message_;
};

// A program and a sampler of a version before the option `expand`: the sampler always samples with Always, and its
// batches do not contain the options with which they were sampled.
class OlderSamplerTest : public ::testing::Test {
 protected:
  OlderSamplerTest() : partitions_(shard::testing::MakeTestGraph(testing::SmallGraph(), 2, 4).graph) {
    const auto& split = partitions_->description().splits.front();
    const sampler::EpochPlan plan{.seed_type = split.node_type, .split = split.split, .batch_size = kBatchSize};
    sampler::LocalMiniBatchSource local(*partitions_, *partitions_, Spec(), plan, {});
    ESPALIER_CHECK(local.StartEpoch(0, 0).ok());
    batch_ = *local.Next(Soon());
    const auto message = messages::EncodeMiniBatch(batch_, Spec().draw);
    ESPALIER_CHECK(message.ok()) << message.status().ToString();
    auto frame = rpc::DecodeFrame<minibatch::v1::MiniBatch>(*message);
    ESPALIER_CHECK(frame.ok()) << frame.status().ToString();
    frame->header.clear_drawn_by();
    service_ = std::make_unique<SendsOneMessage>(rpc::EncodeFrameBytes(frame->header, frame->tensors));
    auto server = rpc::RpcServer::Start({}, {service_.get()});
    ESPALIER_CHECK(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }

  static sampler::SamplingSpec Spec() { return {.layers = {{{6}}, {{3}}}, .seed = 21}; }

  // Returns the first batch of a loader whose batches come from the sampler.
  Result<std::optional<MiniBatch>> FirstBatch(const sampler::SamplingSpec& spec, bool want_edge_ids = false) const {
    const auto graph = testing::GraphOfRank(partitions_, 0, 1, {server_->address()});
    const auto& split = partitions_->description().splits.front();
    const NodeLoaderOptions options{.seed_type = split.node_type,
                                    .batch_size = kBatchSize,
                                    .sampling = spec,
                                    .want_edge_ids = want_edge_ids,
                                    .sampled_by = SampledBy::kSamplers};
    ASSIGN_OR_RETURN(
        const auto loader,
        DistNodeDataLoader::Make(*graph, NodesOfSplit{.split = split.split}, options,
                                 [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> { return batch; }));
    RETURN_IF_ERROR(loader->StartEpoch(0));
    return loader->Next();
  }

  static constexpr uint64_t kBatchSize = 10;
  const std::shared_ptr<sampler::PartitionedGraph> partitions_;
  MiniBatch batch_;  // the batch that the sampler sends
  std::unique_ptr<SendsOneMessage> service_;
  std::unique_ptr<rpc::RpcServer> server_;
};

TEST_F(OlderSamplerTest, BatchesAreUsedIfItSupportsAllOptions) {
  const auto batch = FirstBatch(Spec());
  ASSERT_TRUE(batch.ok() && batch->has_value()) << batch.status().ToString();
  sampler::testing::ExpectSameBatch(**batch, batch_);
}

TEST_F(OlderSamplerTest, BatchesWithUnsupportedOptionsAreRefused) {
  sampler::SamplingSpec once = Spec();
  once.draw.expand = sampler::Expand::kOnce;
  const Status refused = FirstBatch(once).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(refused.message(), HasSubstr("sampler at " + server_->address()));
  EXPECT_THAT(refused.message(), HasSubstr("has drawn with expand Always, the request has Once"));
  EXPECT_THAT(refused.message(), HasSubstr("start samplers of this process's version, or sample in this process"));
}

TEST_F(OlderSamplerTest, BatchesWithoutEdgeIdsAreRefused) {
  EXPECT_THAT(FirstBatch(Spec(), /*want_edge_ids=*/true).status(),
              Unimplemented("the sampler sends no ids of sampled edges: it has another version"));
}

}  // namespace
}  // namespace espalier::client
