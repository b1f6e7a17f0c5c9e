// Reads and pushes are split into pieces of about bytes_per_call bytes, a few of them in flight (call_window.h). A
// piece of gradients carries the step, the rank, the index of the piece and the number of pieces, so the server applies
// it once even if it arrives repeatedly. Every call may therefore be retried (rpc/call.h).
#include "services/client/remote/remote_embeddings.h"

#include <algorithm>
#include <utility>

#include "espalier/tensor/v1/embedding.pb.h"
#include "services/client/remote/call_window.h"
#include "services/client/remote/place_rows.h"
#include "services/client/remote/tensor_messages.h"
#include "services/messages/wire_ids.h"
#include "services/rpc/call.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

constexpr const char* kCreateEmbedding = "/espalier.tensor.v1.EmbeddingStore/Create";
constexpr const char* kReadEmbedding = "/espalier.tensor.v1.EmbeddingStore/Read";
constexpr const char* kPushGradients = "/espalier.tensor.v1.EmbeddingStore/Push";
constexpr const char* kDropEmbedding = "/espalier.tensor.v1.EmbeddingStore/Drop";

tensor::v1::SparseOptimizer ToProto(const sampler::SparseOptimizer& optimizer) {
  tensor::v1::SparseOptimizer proto;
  proto.set_type(static_cast<uint32_t>(optimizer.type));
  proto.set_duplicates(static_cast<uint32_t>(optimizer.duplicates));
  proto.set_weight_decay(optimizer.weight_decay);
  proto.set_epsilon(sampler::EpsilonFor(optimizer));
  proto.set_initial_accumulator(optimizer.initial_accumulator);
  proto.set_beta1(optimizer.beta1);
  proto.set_beta2(optimizer.beta2);
  return proto;
}

// Sends a request whose response has no content, and calls `done` with the status of the call.
void CallForStatus(std::shared_ptr<rpc::Peer> peer, const char* method, const grpc::ByteBuffer& request,
                   Deadline deadline, sampler::DoneStatus done) {
  rpc::CallWithRetries(std::move(peer), method, request, deadline,
                       [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) { done(reply.status()); });
}

}  // namespace

RemoteEmbeddings::RemoteEmbeddings(std::shared_ptr<rpc::Peer> peer, RemoteTensorOptions options)
    : peer_(std::move(peer)), options_(std::move(options)) {}

void RemoteEmbeddings::Create(const sampler::EmbeddingSpec& spec, Deadline deadline, sampler::DoneStatus done) {
  tensor::v1::CreateEmbeddingRequest request;
  *request.mutable_identity() = options_.identity();
  *request.mutable_embedding() = ToProto(spec.id);
  request.set_dtype(static_cast<uint32_t>(spec.dtype));
  request.set_width(spec.width);
  *request.mutable_initializer() = ToProto(spec.initializer);
  *request.mutable_optimizer() = ToProto(spec.optimizer);
  request.set_num_trainers(spec.num_trainers);
  request.set_first_version(spec.first_version);
  CallForStatus(peer_, kCreateEmbedding, rpc::EncodeFrame(std::move(request), {}), deadline, std::move(done));
}

void RemoteEmbeddings::Read(const sampler::TensorId& embedding, uint64_t version, std::span<const LocalRowId> rows,
                            sampler::RowSink sink, Deadline deadline, sampler::DoneStatus done) {
  if (sink.positions.size() != rows.size()) {
    return done(InvalidArgument(std::to_string(sink.positions.size()) + " positions for " +
                                std::to_string(rows.size()) + " rows, expected equal numbers"));
  }
  const size_t rows_per_call = std::max<size_t>(1, options_.bytes_per_call / std::max<size_t>(1, sink.row_bytes));
  tensor::v1::ReadEmbeddingRequest header;
  *header.mutable_identity() = options_.identity();
  *header.mutable_embedding() = ToProto(embedding);
  header.set_version(version);
  header.set_row_bytes(sink.row_bytes);
  PiecewiseRequest query{.method = kReadEmbedding, .num_pieces = NumPieces(rows.size(), rows_per_call)};
  query.encode_request = [header, rows, rows_per_call](size_t piece) {
    const Tensor ids = messages::LocalIdTensor(SelectPiece(rows, piece, rows_per_call));
    return rpc::EncodeFrame(header, std::span(&ids, 1));
  };
  query.handle_reply = [sink, rows, rows_per_call](size_t piece, const grpc::ByteBuffer& reply) {
    return PlaceRows<tensor::v1::ReadEmbeddingResponse>(
        reply, sink, sink.positions.subspan(piece * rows_per_call, SelectPiece(rows, piece, rows_per_call).size()));
  };
  RequestInPieces(peer_, std::move(query), options_.calls_in_flight, deadline, std::move(done));
}

void RemoteEmbeddings::Push(const sampler::TensorId& embedding, sampler::GradientPiece piece, Deadline deadline,
                            sampler::DoneStatus done) {
  const Tensor& gradients = piece.gradients;
  if (gradients.shape().size() != 2 || static_cast<size_t>(gradients.num_rows()) != piece.rows.size()) {
    return done(
        InvalidArgument("gradients " + gradients.ToString() + " for " + std::to_string(piece.rows.size()) + " rows"));
  }
  if (piece.piece != 0 || piece.num_pieces != 1) {
    return done(InvalidArgument("gradients are piece " + std::to_string(piece.piece) + " of " +
                                std::to_string(piece.num_pieces) + ", expected piece 0 of 1"));
  }
  const size_t rows_per_call =
      std::max<size_t>(1, options_.bytes_per_call / std::max<size_t>(1, gradients.row_bytes()));
  const size_t num_pieces = NumPieces(piece.rows.size(), rows_per_call);
  tensor::v1::PushGradientsRequest header;
  *header.mutable_identity() = options_.identity();
  *header.mutable_embedding() = ToProto(embedding);
  header.set_step(piece.step);
  header.set_rank(piece.rank.value);
  header.set_num_pieces(static_cast<uint32_t>(num_pieces));
  header.set_learning_rate(piece.learning_rate);

  PiecewiseRequest query{.method = kPushGradients, .num_pieces = num_pieces};
  query.encode_request = [header, all = std::move(piece), rows_per_call](size_t number) {
    const std::span<const LocalRowId> rows = SelectPiece(std::span<const LocalRowId>(all.rows), number, rows_per_call);
    tensor::v1::PushGradientsRequest request = header;
    request.set_piece(static_cast<uint32_t>(number));
    const std::byte* bytes = all.gradients.bytes() + number * rows_per_call * all.gradients.row_bytes();
    const Tensor tensors[] = {messages::LocalIdTensor(rows),
                              Tensor::Wrap(DType::kF32, {static_cast<int64_t>(rows.size()), all.gradients.shape()[1]},
                                           bytes, std::make_shared<Tensor>(all.gradients))};
    return rpc::EncodeFrame(std::move(request), tensors);
  };
  query.handle_reply = [](size_t, const grpc::ByteBuffer&) { return Status(); };
  RequestInPieces(peer_, std::move(query), options_.calls_in_flight, deadline, std::move(done));
}

void RemoteEmbeddings::Drop(const sampler::TensorId& embedding, Deadline deadline, sampler::DoneStatus done) {
  tensor::v1::DropEmbeddingRequest request;
  *request.mutable_identity() = options_.identity();
  *request.mutable_embedding() = ToProto(embedding);
  CallForStatus(peer_, kDropEmbedding, rpc::EncodeFrame(std::move(request), {}), deadline, std::move(done));
}

}  // namespace espalier::client
