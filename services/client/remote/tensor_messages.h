// Helpers shared by requests for mutable tensors and for learnable rows.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <span>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/row_ids.h"
#include "services/sampler/access/row_sink.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::client {

tensor::v1::TensorId ToProto(const sampler::TensorId& tensor);
tensor::v1::Initializer ToProto(const sampler::Initializer& initializer);

// Returns the rows of piece number `piece`.
inline std::span<const LocalRowId> Piece(std::span<const LocalRowId> rows, size_t piece, size_t rows_per_call) {
  const size_t begin = piece * rows_per_call;
  return rows.subspan(begin, std::min(rows_per_call, rows.size() - begin));
}

// Returns the number of pieces, at least 1: a query for no rows checks that the tensor exists.
inline size_t NumPieces(size_t num_rows, size_t rows_per_call) {
  return std::max<size_t>(1, (num_rows + rows_per_call - 1) / rows_per_call);
}

// Copies the rows of one piece from the message to `positions` of the sink. InvalidArgument: the message has another
// number of bytes.
template <class Response>
Status PlaceRows(const grpc::ByteBuffer& reply, const sampler::RowSink& sink, std::span<const uint32_t> positions) {
  ASSIGN_OR_RETURN(rpc::FrameReader reader, rpc::FrameReader::Open(reply));
  Response header;
  RETURN_IF_ERROR(reader.ReadHeader(&header));
  if (reader.remaining() != positions.size() * sink.row_bytes) {
    return InvalidArgument("the server's reply has " + std::to_string(reader.remaining()) +
                           " bytes of rows, expected " + std::to_string(positions.size()) + " rows of " +
                           std::to_string(sink.row_bytes));
  }
  for (const uint32_t position : positions) reader.CopyBytes(sink.out + position * sink.row_bytes, sink.row_bytes);
  return Status();
}

}  // namespace espalier::client
