// How a call runs. A plugin thread decodes the request. If the function does not change tensors, this thread also runs
// it. Otherwise the call moves to the single change thread, which claims the call's change number (applied_writes.h).
// The first attempt runs the function and, if it succeeds, stores the response and marks the change as applied; a
// repeated request then gets the stored response instead of a second run.
#include "services/server/function_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/messages/request_tensors.h"
#include "services/server/apply_once.h"

namespace espalier::server {
namespace {

using SharedCall = std::shared_ptr<FramedCall>;

// Upper bound of the bytes that a reply message has in addition to the function's response.
constexpr uint64_t kReplyFrameBytes = 1024;

Result<Tensor> ReadRequest(const rpc::Frame<function::v1::CallFunctionRequest>& frame, const ServiceLimits& limits) {
  RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
  const Tensor& request = frame.tensors[0];
  if (request.dtype() != DType::kU8 || request.shape().size() != 1) {
    return InvalidArgument("the function's request is " + request.ToString() + ", expected U8 [n]");
  }
  if (request.size_bytes() > limits.max_function_bytes) {
    return ResourceExhausted("the function's request has " + std::to_string(request.size_bytes()) +
                             " bytes, the limit is " + std::to_string(limits.max_function_bytes));
  }
  return request;
}

// Returns the largest size of a function's response. If a response is larger, the function fails, so that its changes
// are not made for a response that cannot be sent in one message.
size_t MaxResponseBytes(const ServiceLimits& limits) {
  const uint64_t max_frame_bytes = limits.max_reply_bytes - std::min(limits.max_reply_bytes, kReplyFrameBytes);
  return static_cast<size_t>(std::min<uint64_t>(limits.max_function_bytes, max_frame_bytes));
}

// The caller and the plugin must agree on whether the function changes tensors: a caller that does not expect changes
// sends no change number, by which the server could recognize a repeated request.
Status CheckChangesTensors(const PluginLibrary::Function& function, const function::v1::CallFunctionRequest& request) {
  const bool is_changing = function.kind == FunctionKind::kChanging;
  if (is_changing == (request.change().sequence() != 0)) return Status();
  const std::string what = "function '" + function.name + "'";
  if (is_changing) {
    return InvalidArgument(what + " changes tensors: call it with TensorEffect::kChanges");
  }
  return InvalidArgument(what + " changes no tensors: call it without TensorEffect::kChanges");
}

// Returns the context of CallFunction: plugin_workers in place of workers. Without plugins the workers stay, because
// every call fails without running a function.
ServiceContext MakeCallContext(ServiceContext context) {
  if (context.plugin_workers != nullptr) context.workers = context.plugin_workers;
  return context;
}

}  // namespace

FunctionService::FunctionService(ServedFunctions served, std::shared_ptr<sampler::PartitionAccess> tensors,
                                 AppliedWrites& applied, const ServiceContext& context)
    : functions_(served.functions != nullptr ? std::move(served.functions) : std::make_shared<const PluginFunctions>()),
      partition_(std::move(served.partition)),
      tensors_(std::move(tensors)),
      applied_(applied),
      answers_(context.limits.max_kept_answer_bytes),
      context_(context),
      call_context_(MakeCallContext(context)) {}

grpc::ServerUnaryReactor* FunctionService::ListFunctions(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = function::v1::ListFunctionsRequest;
  return HandleFramed<Request>(context_, "ListFunctions", context, request, reply,
                               [this](SharedCall call, rpc::Frame<Request>&& frame) {
                                 RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
                                 function::v1::ListFunctionsResponse response;
                                 for (const auto& [name, entry] : functions_->by_name()) {
                                   function::v1::Function* const listed = response.add_functions();
                                   listed->set_name(name);
                                   listed->set_is_idempotent(entry.function.kind == FunctionKind::kIdempotent);
                                   listed->set_plugin_version(entry.plugin_version);
                                   listed->set_changes_tensors(entry.function.kind == FunctionKind::kChanging);
                                 }
                                 call->FinishWith(std::move(response), {});
                                 return Status();
                               });
}

Result<Tensor> FunctionService::Run(const PluginLibrary::Function& function,
                                    const tensor::v1::RequestIdentity& identity, const Tensor& request,
                                    const FramedCall& call) {
  PluginTensors tensors(tensors_->tensors(), *partition_.book, partition_.data->id,
                        {identity.job(), identity.incarnation(), call.deadline()},
                        function.kind == FunctionKind::kChanging ? TensorUse::kChanges : TensorUse::kReads,
                        call.limits());
  const PluginCallOptions options{.deadline = call.deadline(),
                                  .is_cancelled = [&call] { return call.IsCancelled(); },
                                  .max_response_bytes = MaxResponseBytes(call.limits()),
                                  .tensors = &tensors};
  return CallPlugin(function, partition_, request.byte_span(), options);
}

Status FunctionService::ChangeOnce(const PluginLibrary::Function& function,
                                   const function::v1::CallFunctionRequest& header, const Tensor& request,
                                   const SharedCall& call) {
  const AppliedWrites::Number number = ToNumber(header.change());
  std::optional<Tensor> response;
  return ApplyOnce(
      applied_, header.change(), call->deadline(),
      [&](const sampler::DoneStatus& done) {
        Result<Tensor> answer = Run(function, header.identity(), request, *call);
        if (answer.ok()) {
          response = *answer;
          answers_.Keep(number, *answer);  // stored before the change is reported as applied
        }
        done(answer.status());
      },
      [&](const Status& status) {
        if (!status.ok()) return call->Finish(status);
        if (!response.has_value()) response = answers_.Find(number);  // of an earlier attempt whose response was lost
        if (response.has_value()) return call->FinishWith(function::v1::CallFunctionResponse(), {*response});
        call->Finish(
            FailedPrecondition("function '" + function.name +
                               "' has made its changes in an earlier attempt, whose response is no longer stored"));
      });
}

grpc::ServerUnaryReactor* FunctionService::CallFunction(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = function::v1::CallFunctionRequest;
  return HandleFramed<Request>(
      call_context_, "CallFunction", context, request, reply, [this](SharedCall call, rpc::Frame<Request>&& frame) {
        ASSIGN_OR_RETURN(const Tensor bytes, ReadRequest(frame, call->limits()));
        ASSIGN_OR_RETURN(const PluginLibrary::Function* const function, functions_->Find(frame.header.function()));
        RETURN_IF_ERROR(CheckChangesTensors(*function, frame.header));
        if (function->kind == FunctionKind::kChanging) {
          ContinueOnChangeThread(context_, call, [this, call, function, header = std::move(frame.header), bytes] {
            return ChangeOnce(*function, header, bytes, call);
          });
          return Status();
        }
        ASSIGN_OR_RETURN(const Tensor response, Run(*function, frame.header.identity(), bytes, *call));
        call->FinishWith(function::v1::CallFunctionResponse(), {response});
        return Status();
      });
}

}  // namespace espalier::server
