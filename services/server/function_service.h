// ServerFunctions over plugins: decode, call, encode.
#pragma once

#include <memory>

#include "espalier/function/v1/function.grpc.pb.h"
#include "services/sampler/access/partition_access.h"
#include "services/server/applied_writes.h"
#include "services/server/framed_call.h"
#include "services/server/kept_answers.h"
#include "services/server/plugin_call.h"
#include "services/server/plugin_functions.h"

namespace espalier::server {

namespace internal {
// Both methods are raw: their messages are frames, not protobuf.
using F = function::v1::ServerFunctions;
using RawServerFunctions = F::WithRawCallbackMethod_CallFunction<F::WithRawCallbackMethod_ListFunctions<F::Service>>;
}  // namespace internal

// Which functions can be called, and over what.
struct ServedFunctions {
  std::shared_ptr<const PluginFunctions> functions;  // null: none
  PluginPartition partition = {};                    // where there are functions
  // Threads that run them, and initialisers, so that slow ones do not keep others from their rows; more than 0. One
  // more runs those that change tensors.
  int threads = 1;
  // Calls that may wait for one of them, and again as many for the one more: so many, and of so many bytes together.
  // More get UNAVAILABLE.
  size_t queue_capacity = 256;
  size_t max_waiting_bytes = size_t{256} << 20;
};

// A function that changes tensors runs once however often its request arrives; a repetition is answered as the first
// was. Thread-safe.
class FunctionService final : public internal::RawServerFunctions {
 public:
  // Functions run on the context's threads for plugins, those that change tensors one at a time on the thread for that,
  // and what needs none on its workers. `tensors`: whose they see. `applied` outlives this, as TensorService has it.
  FunctionService(ServedFunctions served, std::shared_ptr<sampler::PartitionAccess> tensors, AppliedWrites& applied,
                  const ServiceContext& context);

  grpc::ServerUnaryReactor* ListFunctions(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* CallFunction(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;

 private:
  // `request`: the frame's tensor.
  Result<Tensor> Run(const PluginLibrary::Function& function, const tensor::v1::RequestIdentity& identity,
                     const Tensor& request, const FramedCall& call);
  // Finishes the call or returns an error.
  Status ChangeOnce(const PluginLibrary::Function& function, const function::v1::CallFunctionRequest& header,
                    const Tensor& request, const std::shared_ptr<FramedCall>& call);

  const std::shared_ptr<const PluginFunctions> functions_;
  const PluginPartition partition_;
  const std::shared_ptr<sampler::PartitionAccess> tensors_;
  AppliedWrites& applied_;
  KeptAnswers answers_;
  const ServiceContext context_;
  const ServiceContext context_of_calls_;  // whose workers are those for plugins
};

}  // namespace espalier::server
