#include "services/server/function_service.h"

#include <utility>

#include "services/server/request_tensors.h"

namespace espalier::server {
namespace {

using SharedCall = std::shared_ptr<FramedCall>;

Result<std::span<const std::byte>> RequestBytesOf(const rpc::Frame<function::v1::CallFunctionRequest>& frame,
                                                  const ServiceLimits& limits) {
  RETURN_IF_ERROR(CheckTensorCount(frame.tensors, 1));
  const Tensor& request = frame.tensors[0];
  if (request.dtype() != DType::kU8 || request.shape().size() != 1) {
    return InvalidArgument("the function's request is " + request.ToString() + ", expected U8 [n]");
  }
  if (request.size_bytes() > limits.max_function_bytes) {
    return ResourceExhausted("the function's request has " + std::to_string(request.size_bytes()) +
                             " bytes, the limit is " + std::to_string(limits.max_function_bytes));
  }
  return request.byte_span();
}

// Without plugins there is nothing to call, which any worker says.
ServiceContext ForCalls(ServiceContext context) {
  if (context.plugin_workers != nullptr) context.workers = context.plugin_workers;
  return context;
}

}  // namespace

FunctionService::FunctionService(ServedFunctions served, const ServiceContext& context)
    : functions_(served.functions != nullptr ? std::move(served.functions) : std::make_shared<const PluginFunctions>()),
      partition_(std::move(served.partition)),
      context_(context),
      context_of_calls_(ForCalls(context)) {}

grpc::ServerUnaryReactor* FunctionService::ListFunctions(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = function::v1::ListFunctionsRequest;
  return HandleFramed<Request>(context_, "ListFunctions", context, request, reply,
                               [this](SharedCall call, rpc::Frame<Request>&& frame) {
                                 RETURN_IF_ERROR(CheckTensorCount(frame.tensors, 0));
                                 function::v1::ListFunctionsResponse response;
                                 for (const auto& [name, entry] : functions_->by_name()) {
                                   function::v1::Function* const listed = response.add_functions();
                                   listed->set_name(name);
                                   listed->set_is_idempotent(entry.function.is_idempotent);
                                   listed->set_plugin_version(entry.plugin_version);
                                 }
                                 call->FinishWith(std::move(response), {});
                                 return Status();
                               });
}

grpc::ServerUnaryReactor* FunctionService::CallFunction(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = function::v1::CallFunctionRequest;
  return HandleFramed<Request>(
      context_of_calls_, "CallFunction", context, request, reply, [this](SharedCall call, rpc::Frame<Request>&& frame) {
        ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, RequestBytesOf(frame, call->limits()));
        ASSIGN_OR_RETURN(const PluginLibrary::Function* const function, functions_->Find(frame.header.function()));
        const PluginCallOptions options{.deadline = call->deadline(),
                                        .is_cancelled = [&call] { return call->IsCancelled(); },
                                        .max_response_bytes = call->limits().max_function_bytes};
        ASSIGN_OR_RETURN(const Tensor response, CallPlugin(*function, partition_, bytes, options));
        call->FinishWith(function::v1::CallFunctionResponse(), {response});
        return Status();
      });
}

}  // namespace espalier::server
