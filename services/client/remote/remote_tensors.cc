// Create, Drop, Abandon and Combine are one change each; Write is one change for each piece. A change begins when its
// request is encoded and ends when no further message of the change can be sent (change_numbers.h). Reads and writes
// are split into pieces of about bytes_per_call bytes (call_window.h). Descriptions that a server returns are
// validated, because the client allocates memory according to them.
#include "services/client/remote/remote_tensors.h"

#include <algorithm>
#include <utility>

#include "services/client/remote/call_window.h"
#include "services/client/remote/place_rows.h"
#include "services/client/remote/tensor_messages.h"
#include "services/messages/wire_ids.h"
#include "services/rpc/call.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

constexpr const char* kCreate = "/espalier.tensor.v1.TensorStore/Create";
constexpr const char* kComplete = "/espalier.tensor.v1.TensorStore/Complete";
constexpr const char* kDescribeTensor = "/espalier.tensor.v1.TensorStore/Describe";
constexpr const char* kRead = "/espalier.tensor.v1.TensorStore/Read";
constexpr const char* kWrite = "/espalier.tensor.v1.TensorStore/Write";
constexpr const char* kCombine = "/espalier.tensor.v1.TensorStore/Combine";
constexpr const char* kReduce = "/espalier.tensor.v1.TensorStore/Reduce";
constexpr const char* kDrop = "/espalier.tensor.v1.TensorStore/Drop";

template <class Response>
Result<sampler::TensorDescription> ParseDescription(const Result<grpc::ByteBuffer>& reply) {
  if (!reply.ok()) return reply.status();
  ASSIGN_OR_RETURN(const rpc::Frame<Response> frame, rpc::DecodeFrame<Response>(*reply));
  const Response& header = frame.header;
  const bool is_valid = header.dtype() <= 0xff && IsValidDType(static_cast<uint8_t>(header.dtype()));
  if (!is_valid) {
    return InvalidArgument("the server's tensor has dtype number " + std::to_string(header.dtype()) +
                           ", which does not exist");
  }
  sampler::TensorDescription description;
  description.dtype = static_cast<DType>(header.dtype());
  description.row_shape.assign(header.row_shape().begin(), header.row_shape().end());
  description.creation = header.creation();
  description.maker = header.maker();
  description.is_complete = header.complete();
  description.num_own_rows = header.num_own_rows();
  if (description.creation == 0) return InvalidArgument("the server's tensor has no creation number");
  if (description.num_own_rows > sampler::TensorLimits::kMaxOwnRows) {
    return InvalidArgument("the server's tensor has " + std::to_string(description.num_own_rows) +
                           " rows, expected at most " + std::to_string(sampler::TensorLimits::kMaxOwnRows));
  }
  // Limit the size of a row, because the client will allocate rows of this shape.
  const auto row_elements = CheckedElementCount(description.row_shape, ItemSize(description.dtype));
  if (!row_elements.ok()) return InvalidArgument("the server's tensor: " + row_elements.status().message());
  const uint64_t row_bytes = sampler::RowBytes(description.dtype, description.row_shape);
  if (row_bytes <= sampler::TensorLimits::kMaxRowBytes) return description;
  return InvalidArgument("the server's tensor has rows of " + std::to_string(row_bytes) + " bytes, expected at most " +
                         std::to_string(sampler::TensorLimits::kMaxRowBytes));
}

// Returns a callback for a call whose response has no content: it calls `done` with the status of the call.
std::function<void(Result<grpc::ByteBuffer>)> PassStatusTo(sampler::DoneStatus done) {
  return [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) { done(reply.status()); };
}

}  // namespace

RemoteTensors::RemoteTensors(std::shared_ptr<rpc::Peer> peer, std::shared_ptr<ChangeNumbers> changes,
                             RemoteTensorOptions options)
    : peer_(std::move(peer)), options_(std::move(options)), changes_(std::move(changes)) {}

template <class Request>
void RemoteTensors::SendChange(const char* method, Request request, Deadline deadline,
                               std::function<void(Result<grpc::ByteBuffer>)> done) {
  *request.mutable_identity() = options_.identity();
  *request.mutable_change() = changes_->Begin();
  const uint64_t sequence = request.change().sequence();
  rpc::CallWithRetries(peer_, method, rpc::EncodeFrame(std::move(request), {}), deadline,
                       [changes = changes_, sequence, done = std::move(done)](Result<grpc::ByteBuffer> reply) {
                         changes->End(sequence);  // before `done`, which may begin the next change
                         done(std::move(reply));
                       });
}

void RemoteTensors::Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline,
                           sampler::Done<sampler::TensorDescription> done) {
  tensor::v1::CreateRequest request;
  *request.mutable_tensor() = ToProto(spec.id);
  *request.mutable_initializer() = ToProto(spec.initializer);
  request.set_dtype(static_cast<uint32_t>(spec.dtype));
  request.mutable_row_shape()->Add(spec.row_shape.begin(), spec.row_shape.end());
  request.set_creation(creation);
  request.set_maker(spec.maker);
  SendChange(kCreate, std::move(request), deadline, [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
    done(ParseDescription<tensor::v1::CreateResponse>(reply));
  });
}

void RemoteTensors::Complete(const sampler::TensorId& tensor, Deadline deadline, sampler::DoneStatus done) {
  tensor::v1::CompleteRequest request;
  *request.mutable_identity() = options_.identity();
  *request.mutable_tensor() = ToProto(tensor);
  rpc::CallWithRetries(peer_, kComplete, rpc::EncodeFrame(std::move(request), {}), deadline,
                       PassStatusTo(std::move(done)));
}

void RemoteTensors::Describe(const sampler::TensorId& tensor, Deadline deadline,
                             sampler::Done<sampler::TensorDescription> done) {
  tensor::v1::DescribeTensorRequest request;
  *request.mutable_identity() = options_.identity();
  *request.mutable_tensor() = ToProto(tensor);
  rpc::CallWithRetries(peer_, kDescribeTensor, rpc::EncodeFrame(std::move(request), {}), deadline,
                       [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
                         done(ParseDescription<tensor::v1::DescribeTensorResponse>(reply));
                       });
}

void RemoteTensors::Drop(const sampler::TensorId& tensor, Deadline deadline, sampler::DoneStatus done) {
  // Maker 0: the tensor is dropped no matter which call created it.
  Abandon(tensor, /*maker=*/0, deadline, std::move(done));
}

void RemoteTensors::Abandon(const sampler::TensorId& tensor, uint64_t maker, Deadline deadline,
                            sampler::DoneStatus done) {
  tensor::v1::DropRequest request;
  *request.mutable_tensor() = ToProto(tensor);
  request.set_abandoned_by(maker);
  SendChange(kDrop, std::move(request), deadline, PassStatusTo(std::move(done)));
}

void RemoteTensors::Read(const sampler::TensorId& tensor, std::span<const LocalRowId> rows, sampler::RowSink sink,
                         Deadline deadline, sampler::DoneStatus done) {
  if (sink.positions.size() != rows.size()) {
    return done(InvalidArgument(std::to_string(sink.positions.size()) + " positions for " +
                                std::to_string(rows.size()) + " rows, expected equal numbers"));
  }
  const size_t rows_per_call = std::max<size_t>(1, options_.bytes_per_call / std::max<size_t>(1, sink.row_bytes));
  tensor::v1::ReadRequest header;
  *header.mutable_identity() = options_.identity();
  *header.mutable_tensor() = ToProto(tensor);
  header.set_row_bytes(sink.row_bytes);
  PiecewiseRequest query{.method = kRead, .num_pieces = NumPieces(rows.size(), rows_per_call)};
  query.encode_request = [header, rows, rows_per_call](size_t piece) {
    const Tensor ids = messages::LocalIdTensor(SelectPiece(rows, piece, rows_per_call));
    return rpc::EncodeFrame(header, std::span(&ids, 1));
  };
  query.handle_reply = [sink, rows, rows_per_call](size_t piece, const grpc::ByteBuffer& reply) {
    return PlaceRows<tensor::v1::ReadResponse>(
        reply, sink, sink.positions.subspan(piece * rows_per_call, SelectPiece(rows, piece, rows_per_call).size()));
  };
  RequestInPieces(peer_, std::move(query), options_.calls_in_flight, deadline, std::move(done));
}

void RemoteTensors::Write(const sampler::TensorId& tensor, sampler::RowWrite write, std::vector<LocalRowId> rows,
                          Tensor values, Deadline deadline, sampler::DoneStatus done) {
  if (values.shape().empty() || static_cast<size_t>(values.num_rows()) != rows.size()) {
    return done(InvalidArgument("values " + values.ToString() + " for " + std::to_string(rows.size()) +
                                " rows, expected one row of values for each"));
  }
  const size_t rows_per_call = std::max<size_t>(1, options_.bytes_per_call / std::max<size_t>(1, values.row_bytes()));
  const size_t num_pieces = NumPieces(rows.size(), rows_per_call);
  tensor::v1::WriteRequest header;
  *header.mutable_identity() = options_.identity();
  *header.mutable_tensor() = ToProto(tensor);
  header.set_write(static_cast<tensor::v1::RowWrite>(write));

  // A piece gets its sequence number when it is first sent, so that the server tracks few pending changes.
  const auto sequences = std::make_shared<std::vector<uint64_t>>(num_pieces);  // by piece; 0: not sent yet
  PiecewiseRequest query{.method = kWrite, .num_pieces = num_pieces};
  query.encode_request = [header, rows = std::move(rows), values, rows_per_call, changes = changes_,
                          sequences](size_t piece) {
    const std::span<const LocalRowId> of_piece = SelectPiece(rows, piece, rows_per_call);
    tensor::v1::WriteRequest request = header;
    *request.mutable_change() = changes->Begin();
    (*sequences)[piece] = request.change().sequence();
    std::vector<int64_t> shape = values.shape();
    shape[0] = static_cast<int64_t>(of_piece.size());
    const std::byte* bytes = values.bytes() + piece * rows_per_call * values.row_bytes();
    const Tensor tensors[] = {messages::LocalIdTensor(of_piece),
                              Tensor::Wrap(values.dtype(), std::move(shape), bytes, std::make_shared<Tensor>(values))};
    return rpc::EncodeFrame(std::move(request), tensors);
  };
  query.handle_reply = [changes = changes_, sequences](size_t piece, const grpc::ByteBuffer&) {
    changes->End((*sequences)[piece]);
    return Status();
  };
  const size_t calls_in_flight = write == sampler::RowWrite::kAssign ? options_.calls_in_flight : 1;
  RequestInPieces(peer_, std::move(query), calls_in_flight, deadline,
                  [changes = changes_, sequences, done = std::move(done)](Status status) {
                    for (const uint64_t sequence : *sequences)
                      changes->End(sequence);  // no effect unless the piece failed
                    done(std::move(status));
                  });
}

void RemoteTensors::Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const sampler::TensorId& from,
                            Deadline deadline, sampler::DoneStatus done) {
  tensor::v1::CombineRequest request;
  *request.mutable_tensor() = ToProto(tensor);
  request.set_write(static_cast<tensor::v1::RowWrite>(write));
  request.set_from(from.name);
  request.set_from_creation(from.creation);
  SendChange(kCombine, std::move(request), deadline, PassStatusTo(std::move(done)));
}

void RemoteTensors::Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline deadline,
                           sampler::Done<Tensor> done) {
  tensor::v1::ReduceRequest request;
  *request.mutable_identity() = options_.identity();
  *request.mutable_tensor() = ToProto(tensor);
  request.set_reduction(static_cast<tensor::v1::Reduction>(reduction));
  rpc::CallWithRetries(peer_, kReduce, rpc::EncodeFrame(std::move(request), {}), deadline,
                       [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
                         if (!reply.ok()) return done(reply.status());
                         auto frame = rpc::DecodeFrame<tensor::v1::ReduceResponse>(*reply);
                         if (!frame.ok()) return done(frame.status());
                         if (frame->tensors.size() != 1) {
                           return done(InvalidArgument("the server's reduction has " +
                                                       std::to_string(frame->tensors.size()) + " tensors, expected 1"));
                         }
                         done(std::move(frame->tensors[0]));
                       });
}

}  // namespace espalier::client
