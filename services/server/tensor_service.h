// The gRPC service TensorStore over the mutable tensors of one partition.
#pragma once

#include <memory>

#include "espalier/tensor/v1/tensor.grpc.pb.h"
#include "services/sampler/access/partition_access.h"
#include "services/server/applied_writes.h"
#include "services/server/framed_call.h"

namespace espalier::server {

namespace internal {
using T = tensor::v1::TensorStore;
using RawTensorStore =
    T::WithRawCallbackMethod_Create<T::WithRawCallbackMethod_Complete<T::WithRawCallbackMethod_Describe<
        T::WithRawCallbackMethod_Read<T::WithRawCallbackMethod_Write<T::WithRawCallbackMethod_Combine<
            T::WithRawCallbackMethod_Reduce<T::WithRawCallbackMethod_Drop<T::Service>>>>>>>>;
}  // namespace internal

// The methods are documented in proto/espalier/tensor/v1/tensor.proto. A repeated change is acknowledged but not
// applied again. Thread-safe.
class TensorService final : public internal::RawTensorStore {
 public:
  // `applied`, shared with the other services that change the partition's tensors, outlives this object.
  TensorService(std::shared_ptr<sampler::PartitionAccess> partition, AppliedWrites& applied,
                const ServiceContext& context);

  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Complete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Combine(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Reduce(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override;

 private:
  sampler::PartitionTensors& tensors() const { return partition_->tensors(); }

  // Creates the tensor on this thread. Finishes the call or returns an error.
  Status CreateNow(const std::shared_ptr<FramedCall>& call, const sampler::TensorSpec& spec,
                   const tensor::v1::CreateRequest& request);

  const std::shared_ptr<sampler::PartitionAccess> partition_;
  AppliedWrites& applied_;
  const ServiceContext context_;
};

}  // namespace espalier::server
