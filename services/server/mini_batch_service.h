// The gRPC service MiniBatchStream: samples the batches that a trainer requests, ahead of the trainer as far as its
// credits allow.
#pragma once

#include <functional>
#include <memory>

#include "espalier/minibatch/v1/minibatch.grpc.pb.h"
#include "services/messages/stream_messages.h"
#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/seed_source.h"
#include "services/server/framed_call.h"

namespace espalier::server {

struct MiniBatchServiceOptions {
  // How many batches of one stream are sampled concurrently, at least 1.
  uint32_t batches_at_once = 1;
  // How long the sampling of one batch may wait for graph servers.
  std::chrono::milliseconds step_timeout = std::chrono::minutes(10);
  // Returns an error for a stream that does not belong to this sampler's job; null accepts all streams.
  std::function<Status(const messages::StreamPlan&)> admit;
};

// The stream is documented in proto/espalier/minibatch/v1/minibatch.proto. Thread-safe.
class MiniBatchService final
    : public minibatch::v1::MiniBatchStream::WithRawCallbackMethod_Stream<minibatch::v1::MiniBatchStream::Service> {
 public:
  // `neighbors` and `seeds` are thread-safe. They and the objects that `context` points to outlive the service.
  MiniBatchService(sampler::NeighborSource& neighbors, sampler::SeedSource& seeds, const ServiceContext& context,
                   MiniBatchServiceOptions options);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* context) override;

 private:
  friend class BatchStream;

  sampler::NeighborSource& neighbors_;
  sampler::SeedSource& seeds_;
  const ServiceContext context_;
  const MiniBatchServiceOptions options_;
};

}  // namespace espalier::server
