#include "services/server/tensor_service.h"

#include <utility>

#include "services/server/graph_requests.h"
#include "services/server/request_tensors.h"

namespace espalier::server {
namespace {

using Call = std::shared_ptr<FramedCall>;

template <class Response>
sampler::DoneStatus Acknowledge(Call call) {
  return [call = std::move(call)](const Status& status) {
    if (!status.ok()) return call->Finish(status);
    call->FinishWith(Response(), {});
  };
}

}  // namespace

TensorService::TensorService(std::shared_ptr<sampler::PartitionAccess> partition, const ServiceContext& context)
    : partition_(std::move(partition)), context_(context) {}

grpc::ServerUnaryReactor* TensorService::Create(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* reply) {
  using Request = tensor::v1::CreateRequest;
  return HandleFramed<Request>(
      context_, "Create", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        const Request& asked = frame.header;
        RETURN_IF_ERROR(CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const NodeTypeId type, NodeTypeOf(asked.node_type()));
        if (asked.dtype() > 0xff || !IsValidDType(static_cast<uint8_t>(asked.dtype()))) {
          return InvalidArgument("dtype number " + std::to_string(asked.dtype()) + " does not exist");
        }
        const DType dtype = static_cast<DType>(asked.dtype());
        const std::vector<int64_t> row_shape(asked.row_shape().begin(), asked.row_shape().end());
        if (const auto count = CheckedElementCount(row_shape, SizeOf(dtype)); !count.ok()) {
          return InvalidArgument(count.status().message());
        }
        ASSIGN_OR_RETURN(const auto left_behind, owners_.Creates({type, asked.name()}, asked.identity().incarnation()));
        for (const auto& [old_type, old_name] : left_behind) {
          partition_->DropTensor(old_type, old_name, call->deadline(), [](const Status&) {});
        }
        partition_->CreateTensor(type, asked.name(), dtype, row_shape, call->deadline(),
                                 [this, tensor = TensorOwners::Tensor(type, asked.name()),
                                  acknowledge = Acknowledge<tensor::v1::CreateResponse>(call)](const Status& status) {
                                   const bool exists = status.ok() || status.code() == StatusCode::kAlreadyExists;
                                   if (!exists) owners_.Dropped(tensor);
                                   acknowledge(status);
                                 });
        return Status();
      });
}

grpc::ServerUnaryReactor* TensorService::Write(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* reply) {
  using Request = tensor::v1::WriteRequest;
  return HandleFramed<Request>(
      context_, "Write", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        const uint64_t client_id = frame.header.client_id();
        const uint64_t sequence = frame.header.sequence();
        RETURN_IF_ERROR(CheckTensorCount(frame.tensors, 2));
        ASSIGN_OR_RETURN(const NodeTypeId type, NodeTypeOf(frame.header.node_type()));
        ASSIGN_OR_RETURN(const std::span<const LocalNodeId> nodes, LocalIds(frame.tensors[0], call->limits()));
        if (sequence != 0) {
          switch (applied_.TryClaim(client_id, sequence)) {
            case AppliedWrites::Claim::kTaken: break;
            case AppliedWrites::Claim::kApplied: call->FinishWith(tensor::v1::WriteResponse(), {}); return Status();
            case AppliedWrites::Claim::kUnderWay: return Unavailable("another try of this write is under way");
            case AppliedWrites::Claim::kForgotten:
              return Aborted("write " + std::to_string(sequence) + " is older than what is remembered of its client");
          }
        }
        auto acknowledge = Acknowledge<tensor::v1::WriteResponse>(call);
        partition_->WriteRows(
            type, frame.header.name(), {nodes.begin(), nodes.end()}, frame.tensors[1], call->deadline(),
            [this, client_id, sequence, acknowledge = std::move(acknowledge)](const Status& status) {
              if (sequence != 0) {
                status.ok() ? applied_.Applied(client_id, sequence) : applied_.Failed(client_id, sequence);
              }
              acknowledge(status);
            });
        return Status();
      });
}

grpc::ServerUnaryReactor* TensorService::Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* reply) {
  using Request = tensor::v1::DropRequest;
  return HandleFramed<Request>(context_, "Drop", context, request, reply,
                               [this](Call call, rpc::Frame<Request>&& frame) {
                                 RETURN_IF_ERROR(CheckTensorCount(frame.tensors, 0));
                                 ASSIGN_OR_RETURN(const NodeTypeId type, NodeTypeOf(frame.header.node_type()));
                                 owners_.Dropped({type, frame.header.name()});
                                 partition_->DropTensor(type, frame.header.name(), call->deadline(),
                                                        Acknowledge<tensor::v1::DropResponse>(call));
                                 return Status();
                               });
}

}  // namespace espalier::server
