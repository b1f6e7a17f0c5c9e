// The gRPC service ServerFunctions: clients call functions of plugins.
#pragma once

#include <memory>

#include "espalier/function/v1/function.grpc.pb.h"
#include "services/sampler/access/partition_access.h"
#include "services/server/answer_cache.h"
#include "services/server/applied_writes.h"
#include "services/server/framed_call.h"
#include "services/server/plugin_call.h"
#include "services/server/plugin_functions.h"

namespace espalier::server {

namespace internal {
// Both methods are raw: their messages are frames, not protobuf.
using F = function::v1::ServerFunctions;
using RawServerFunctions = F::WithRawCallbackMethod_CallFunction<F::WithRawCallbackMethod_ListFunctions<F::Service>>;
}  // namespace internal

// The functions that clients can call, and the data that the functions see.
struct ServedFunctions {
  std::shared_ptr<const PluginFunctions> functions;  // null: no functions
  PluginPartition partition = {};                    // set if there are functions
  // Number of threads, at least 1, for functions and initializers, so that slow functions do not delay requests for
  // rows. One additional thread runs the functions that change tensors.
  int threads = 1;
  // Limits of the queue of these threads: the number of waiting calls and the total bytes of their requests. The
  // additional thread has a queue of its own with the same limits. Further calls get UNAVAILABLE.
  size_t queue_capacity = 256;
  size_t max_waiting_bytes = size_t{256} << 20;
};

// The methods are documented in proto/espalier/function/v1/function.proto. After a function that changes tensors has
// succeeded, a repeated request does not run it again: it gets the stored response, or FAILED_PRECONDITION if the
// response is no longer stored. Thread-safe.
class FunctionService final : public internal::RawServerFunctions {
 public:
  // Functions that change tensors run one at a time on the context's change thread, other functions on its plugin
  // threads, and ListFunctions on its workers. `tensors` holds the tensors that functions see. `applied`, the same
  // object as TensorService's, outlives this object.
  FunctionService(ServedFunctions served, std::shared_ptr<sampler::PartitionAccess> tensors, AppliedWrites& applied,
                  const ServiceContext& context);

  grpc::ServerUnaryReactor* ListFunctions(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* CallFunction(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;

 private:
  // Calls `function` with `request`, U8 [n], and returns its response, U8 [m].
  Result<Tensor> Run(const PluginLibrary::Function& function, const tensor::v1::RequestIdentity& identity,
                     const Tensor& request, const FramedCall& call);
  // Runs a function that changes tensors, unless an earlier attempt has run it. Finishes the call or returns an error.
  Status ChangeOnce(const PluginLibrary::Function& function, const function::v1::CallFunctionRequest& header,
                    const Tensor& request, const std::shared_ptr<FramedCall>& call);

  const std::shared_ptr<const PluginFunctions> functions_;
  const PluginPartition partition_;
  const std::shared_ptr<sampler::PartitionAccess> tensors_;
  AppliedWrites& applied_;
  AnswerCache answers_;
  const ServiceContext context_;
  const ServiceContext call_context_;  // for CallFunction: plugin_workers in place of workers
};

}  // namespace espalier::server
