// Copies the rows of a server's reply to their places in the caller's memory.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <span>
#include <string>

#include "services/rpc/frame.h"
#include "services/sampler/access/row_sink.h"

namespace espalier::client {

// Copies the rows of `reply`, a frame with a header of type Response, to the sink: row i to sink.out + positions[i] *
// sink.row_bytes. `positions` is the part of sink.positions that this reply is about. InvalidArgument: the size of the
// frame's tensor data is not that of positions.size() rows.
template <class Response>
Status PlaceRows(const grpc::ByteBuffer& reply, const sampler::RowSink& sink, std::span<const uint32_t> positions) {
  ASSIGN_OR_RETURN(rpc::FrameReader reader, rpc::FrameReader::Open(reply));
  Response header;
  RETURN_IF_ERROR(reader.ReadHeader(&header));
  if (reader.remaining() != positions.size() * sink.row_bytes) {
    return InvalidArgument("the server's reply has " + std::to_string(reader.remaining()) +
                           " bytes of rows, expected " + std::to_string(positions.size()) + " rows of " +
                           std::to_string(sink.row_bytes) + " bytes");
  }
  for (const uint32_t position : positions) reader.CopyBytes(sink.out + position * sink.row_bytes, sink.row_bytes);
  return Status();
}

}  // namespace espalier::client
