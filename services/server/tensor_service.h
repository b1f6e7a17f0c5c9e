// TensorStore over a partition's tensors.
#pragma once

#include <functional>
#include <memory>

#include "espalier/tensor/v1/tensor.grpc.pb.h"
#include "services/sampler/partition_access.h"
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

// Changes that arrive again are acknowledged and not applied again. Thread-safe.
class TensorService final : public internal::RawTensorStore {
 public:
  TensorService(std::shared_ptr<sampler::PartitionAccess> partition, const ServiceContext& context);

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

  // Finishes the call or returns an error.
  Status CreateNow(const std::shared_ptr<FramedCall>& call, const sampler::TensorSpec& spec,
                   const tensor::v1::CreateRequest& request);

  // Calls apply(done) unless the change was applied before; then answer(status), at once or when apply is done.
  // An error is that of a change that cannot be taken now, or never.
  Status ApplyOnce(const tensor::v1::Change& change, const std::function<void(sampler::DoneStatus)>& apply,
                   sampler::DoneStatus answer);

  const std::shared_ptr<sampler::PartitionAccess> partition_;
  const ServiceContext context_;
  AppliedWrites applied_;
};

}  // namespace espalier::server
