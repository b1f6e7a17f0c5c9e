// Each method decodes its request on a worker (HandleFramed) and calls the partition's embeddings, which finish the
// call in a callback, possibly later: Read and Push wait for the gradients of other trainers.
#include "services/server/embedding_service.h"

#include <utility>

#include "services/messages/request_tensors.h"
#include "services/server/row_reply.h"
#include "services/server/tensor_messages.h"

namespace espalier::server {
namespace {

using EmbeddingCall = std::shared_ptr<FramedCall>;

Result<sampler::EmbeddingSpec> ParseEmbeddingSpec(const tensor::v1::CreateEmbeddingRequest& request) {
  sampler::EmbeddingSpec spec;
  ASSIGN_OR_RETURN(spec.id, ParseTensorId(request.embedding(), request.identity()));
  if (request.dtype() > 0xff || !IsValidDType(static_cast<uint8_t>(request.dtype()))) {
    return InvalidArgument("dtype number " + std::to_string(request.dtype()) + " does not exist");
  }
  spec.dtype = static_cast<DType>(request.dtype());
  spec.width = request.width();
  ASSIGN_OR_RETURN(spec.initializer, ParseInitializer(request.initializer()));
  const tensor::v1::SparseOptimizer& optimizer = request.optimizer();
  if (optimizer.type() > 0xff || optimizer.duplicates() > 0xff) {
    return InvalidArgument("sparse optimizer " + std::to_string(optimizer.type()) + " with rule " +
                           std::to_string(optimizer.duplicates()) + " for duplicates does not exist");
  }
  spec.optimizer.type = static_cast<sampler::SparseOptimizerType>(optimizer.type());
  spec.optimizer.duplicates = static_cast<sampler::DuplicateGradients>(optimizer.duplicates());
  spec.optimizer.weight_decay = optimizer.weight_decay();
  spec.optimizer.epsilon = optimizer.epsilon();
  spec.optimizer.initial_accumulator = optimizer.initial_accumulator();
  spec.optimizer.beta1 = optimizer.beta1();
  spec.optimizer.beta2 = optimizer.beta2();
  spec.num_trainers = request.num_trainers();
  spec.first_version = request.first_version();
  spec.incarnation = request.identity().incarnation();
  return spec;
}

// Returns a callback that calls `answer`, with UNAVAILABLE in place of DEADLINE_EXCEEDED: other trainers' gradients
// may arrive after kMaxWait, so the client should retry.
sampler::DoneStatus ToRetryableAnswer(sampler::DoneStatus answer) {
  return [answer = std::move(answer)](const Status& status) {
    answer(status.code() == StatusCode::kDeadlineExceeded ? Unavailable(status.message()) : status);
  };
}

}  // namespace

EmbeddingService::EmbeddingService(std::shared_ptr<sampler::PartitionAccess> partition, const ServiceContext& context)
    : partition_(std::move(partition)), context_(context) {}

grpc::ServerUnaryReactor* EmbeddingService::Create(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = tensor::v1::CreateEmbeddingRequest;
  return HandleFramed<Request>(
      context_, "CreateEmbedding", context, request, reply, [this](EmbeddingCall call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::EmbeddingSpec spec, ParseEmbeddingSpec(frame.header));
        const auto create = [this, call, spec] {
          embeddings().Create(spec, call->deadline(), Acknowledge<tensor::v1::CreateEmbeddingResponse>(call));
          return Status();
        };
        if (spec.initializer.kind != sampler::Initializer::Kind::kPlugin) return create();
        ContinueOnPluginThread(context_, call, create);
        return Status();
      });
}

grpc::ServerUnaryReactor* EmbeddingService::Read(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* reply) {
  using Request = tensor::v1::ReadEmbeddingRequest;
  return HandleFramed<Request>(
      context_, "ReadEmbedding", context, request, reply, [this](EmbeddingCall call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const std::span<const LocalRowId> requested, ParseLocalRows(frame.tensors[0], call->limits()));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.embedding(), frame.header.identity()));
        ASSIGN_OR_RETURN(const std::shared_ptr<RowReply> rows,
                         RowReply::Make(requested.size(), frame.header.row_bytes(), frame.tensors[0], call->limits()));
        embeddings().Read(id, frame.header.version(), requested, rows->sink(), call->deadline().AtMost(kMaxWait),
                          ToRetryableAnswer(AnswerRows<tensor::v1::ReadEmbeddingResponse>(call, rows)));
        return Status();
      });
}

grpc::ServerUnaryReactor* EmbeddingService::Push(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* reply) {
  using Request = tensor::v1::PushGradientsRequest;
  return HandleFramed<Request>(
      context_, "PushGradients", context, request, reply, [this](EmbeddingCall call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 2));
        ASSIGN_OR_RETURN(const std::span<const LocalRowId> rows, ParseLocalRows(frame.tensors[0], call->limits()));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.embedding(), frame.header.identity()));
        sampler::GradientPiece piece{.step = frame.header.step(),
                                     .rank = Rank(frame.header.rank()),
                                     .piece = frame.header.piece(),
                                     .num_pieces = frame.header.num_pieces(),
                                     .learning_rate = frame.header.learning_rate(),
                                     .rows = {rows.begin(), rows.end()},
                                     .gradients = std::move(frame.tensors[1])};
        embeddings().Push(id, std::move(piece), call->deadline().AtMost(kMaxWait),
                          ToRetryableAnswer(Acknowledge<tensor::v1::PushGradientsResponse>(call)));
        return Status();
      });
}

grpc::ServerUnaryReactor* EmbeddingService::Drop(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* reply) {
  using Request = tensor::v1::DropEmbeddingRequest;
  return HandleFramed<Request>(
      context_, "DropEmbedding", context, request, reply, [this](EmbeddingCall call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 0));
        ASSIGN_OR_RETURN(const sampler::TensorId id, ParseTensorId(frame.header.embedding(), frame.header.identity()));
        embeddings().Drop(id, call->deadline(), Acknowledge<tensor::v1::DropEmbeddingResponse>(call));
        return Status();
      });
}

}  // namespace espalier::server
