// Each method decodes its request on a worker (HandleFramed), calls the partition's tensors, and finishes the call in a
// callback. Create, Write, Combine and Drop go through ApplyOnce, so that a repeated request does not change a tensor
// again; Complete needs no such check, because completing a tensor twice has no effect.
#include "services/server/tensor_service.h"

#include <optional>
#include <utility>

#include "services/messages/request_tensors.h"
#include "services/server/apply_once.h"
#include "services/server/row_reply.h"
#include "services/server/tensor_messages.h"

namespace espalier::server {
namespace {

using Call = std::shared_ptr<FramedCall>;

template <class Response>
sampler::Done<sampler::TensorDescription> AnswerDescription(Call call) {
  return [call = std::move(call)](const Result<sampler::TensorDescription>& description) {
    if (!description.ok()) return call->Finish(description.status());
    call->FinishWith(MakeDescription<Response>(*description), {});
  };
}

}  // namespace

TensorService::TensorService(std::shared_ptr<sampler::PartitionAccess> partition, AppliedWrites& applied,
                             const ServiceContext& context)
    : partition_(std::move(partition)), applied_(applied), context_(context) {}

grpc::ServerUnaryReactor* TensorService::Create(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* reply) {
  using Request = tensor::v1::CreateRequest;
  return HandleFramed<Request>(
      context_, "Create", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorSpec spec, ParseTensorSpec(frame.header));
        if (spec.initializer.kind != sampler::Initializer::Kind::kPlugin) return CreateNow(call, spec, frame.header);
        ContinueOnPluginThread(context_, call,
                               [this, call, spec, header = frame.header] { return CreateNow(call, spec, header); });
        return Status();
      });
}

Status TensorService::CreateNow(const Call& call, const sampler::TensorSpec& spec,
                                const tensor::v1::CreateRequest& request) {
  const auto description = std::make_shared<std::optional<sampler::TensorDescription>>();
  return ApplyOnce(
      applied_, request.change(), call->deadline(),
      [&](sampler::DoneStatus done) {
        tensors().Create(spec, request.creation(), call->deadline(),
                         [description, done = std::move(done)](Result<sampler::TensorDescription> created) {
                           if (created.ok()) *description = *created;
                           done(created.status());
                         });
      },
      [this, call, description, id = spec.id](const Status& status) {
        if (!status.ok()) return call->Finish(status);
        if (description->has_value())
          return call->FinishWith(MakeDescription<tensor::v1::CreateResponse>(**description), {});
        // An earlier attempt has created the tensor, but its response was lost.
        tensors().Describe(id, call->deadline(), AnswerDescription<tensor::v1::CreateResponse>(call));
      });
}

grpc::ServerUnaryReactor* TensorService::Complete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) {
  using Request = tensor::v1::CompleteRequest;
  return HandleFramed<Request>(
      context_, "Complete", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
        if (id.creation == 0) return InvalidArgument("the request to complete a tensor has no creation number");
        tensors().Complete(id, call->deadline(), Acknowledge<tensor::v1::CompleteResponse>(call));
        return Status();
      });
}

grpc::ServerUnaryReactor* TensorService::Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) {
  using Request = tensor::v1::DescribeTensorRequest;
  return HandleFramed<Request>(
      context_, "DescribeTensor", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
        tensors().Describe(id, call->deadline(), AnswerDescription<tensor::v1::DescribeTensorResponse>(call));
        return Status();
      });
}

grpc::ServerUnaryReactor* TensorService::Read(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* reply) {
  using Request = tensor::v1::ReadRequest;
  return HandleFramed<Request>(
      context_, "Read", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const std::span<const LocalRowId> requested, ParseLocalRows(frame.tensors[0], call->limits()));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
        ASSIGN_OR_RETURN(const std::shared_ptr<RowReply> rows,
                         RowReply::Make(requested.size(), frame.header.row_bytes(), frame.tensors[0], call->limits()));
        tensors().Read(id, requested, rows->sink(), call->deadline(), AnswerRows<tensor::v1::ReadResponse>(call, rows));
        return Status();
      });
}

grpc::ServerUnaryReactor* TensorService::Write(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* reply) {
  using Request = tensor::v1::WriteRequest;
  return HandleFramed<
      Request>(context_, "Write", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
    RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 2));
    ASSIGN_OR_RETURN(const std::span<const LocalRowId> rows, ParseLocalRows(frame.tensors[0], call->limits()));
    ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
    ASSIGN_OR_RETURN(const sampler::RowWrite write, ParseRowWrite(frame.header.write()));
    return ApplyOnce(
        applied_, frame.header.change(), call->deadline(),
        [&](sampler::DoneStatus done) {
          tensors().Write(id, write, {rows.begin(), rows.end()}, frame.tensors[1], call->deadline(), std::move(done));
        },
        Acknowledge<tensor::v1::WriteResponse>(call));
  });
}

grpc::ServerUnaryReactor* TensorService::Combine(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* reply) {
  using Request = tensor::v1::CombineRequest;
  return HandleFramed<Request>(
      context_, "Combine", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
        ASSIGN_OR_RETURN(const sampler::RowWrite write, ParseRowWrite(frame.header.write()));
        RETURN_IF_ERROR(graph::CheckName("tensor", frame.header.from()));
        sampler::TensorId from = id;
        from.name = frame.header.from();
        from.creation = frame.header.from_creation();
        return ApplyOnce(
            applied_, frame.header.change(), call->deadline(),
            [&](sampler::DoneStatus done) { tensors().Combine(id, write, from, call->deadline(), std::move(done)); },
            Acknowledge<tensor::v1::CombineResponse>(call));
      });
}

grpc::ServerUnaryReactor* TensorService::Reduce(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* reply) {
  using Request = tensor::v1::ReduceRequest;
  return HandleFramed<Request>(
      context_, "Reduce", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
        ASSIGN_OR_RETURN(const sampler::Reduction reduction, ParseReduction(frame.header.reduction()));
        tensors().Reduce(id, reduction, call->deadline(), [call](const Result<Tensor>& part) {
          if (!part.ok()) return call->Finish(part.status());
          call->FinishWith(tensor::v1::ReduceResponse(), {*part});
        });
        return Status();
      });
}

grpc::ServerUnaryReactor* TensorService::Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* reply) {
  using Request = tensor::v1::DropRequest;
  return HandleFramed<Request>(
      context_, "Drop", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.tensor(), frame.header.identity()));
        return ApplyOnce(
            applied_, frame.header.change(), call->deadline(),
            [&](sampler::DoneStatus done) {
              const uint64_t maker = frame.header.abandoned_by();  // 0: drop whoever created it
              if (maker == 0) return tensors().Drop(id, call->deadline(), std::move(done));
              tensors().Abandon(id, maker, call->deadline(), std::move(done));
            },
            Acknowledge<tensor::v1::DropResponse>(call));
      });
}

}  // namespace espalier::server
