// The gRPC service EmbeddingStore over the learnable rows of one partition.
#pragma once

#include <chrono>
#include <memory>

#include "espalier/tensor/v1/embedding.grpc.pb.h"
#include "services/sampler/access/partition_access.h"
#include "services/server/framed_call.h"

namespace espalier::server {

namespace internal {
using E = tensor::v1::EmbeddingStore;
using RawEmbeddingStore = E::WithRawCallbackMethod_Create<
    E::WithRawCallbackMethod_Read<E::WithRawCallbackMethod_Push<E::WithRawCallbackMethod_Drop<E::Service>>>>;
}  // namespace internal

// The methods are documented in proto/espalier/tensor/v1/embedding.proto. Thread-safe.
class EmbeddingService final : public internal::RawEmbeddingStore {
 public:
  // The longest time that a read or push waits for other trainers; the client then has to retry. It is short, because
  // a draining server waits for these calls.
  static constexpr std::chrono::seconds kMaxWait{5};

  EmbeddingService(std::shared_ptr<sampler::PartitionAccess> partition, const ServiceContext& context);

  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;

 private:
  sampler::PartitionEmbeddings& embeddings() const { return partition_->embeddings(); }

  const std::shared_ptr<sampler::PartitionAccess> partition_;
  const ServiceContext context_;
};

}  // namespace espalier::server
