// TensorStore over a PartitionAccess.
#pragma once

#include <memory>

#include "espalier/tensor/v1/tensor.grpc.pb.h"
#include "services/sampler/partition_access.h"
#include "services/server/applied_writes.h"
#include "services/server/framed_call.h"
#include "services/server/tensor_owners.h"

namespace espalier::server {

namespace internal {
using T = tensor::v1::TensorStore;
using RawTensorStore =
    T::WithRawCallbackMethod_Create<T::WithRawCallbackMethod_Write<T::WithRawCallbackMethod_Drop<T::Service>>>;
}  // namespace internal

// The first tensor that a newer incarnation creates takes the place of all that older ones have left. Thread-safe.
class TensorService final : public internal::RawTensorStore {
 public:
  TensorService(std::shared_ptr<sampler::PartitionAccess> partition, const ServiceContext& context);

  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;

 private:
  const std::shared_ptr<sampler::PartitionAccess> partition_;
  const ServiceContext context_;
  AppliedWrites applied_;
  TensorOwners owners_;
};

}  // namespace espalier::server
