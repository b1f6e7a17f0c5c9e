// A query that is split into several calls. A limited number of them is in flight, and the query completes once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/call.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// A query in pieces, one call each. Its functions may be called concurrently for different pieces.
struct PiecewiseRequest {
  std::string method;
  size_t num_pieces = 0;
  std::function<grpc::ByteBuffer(size_t piece)> encode_request;                     // returns the request of one call
  std::function<Status(size_t piece, const grpc::ByteBuffer& reply)> handle_reply;  // an error ends the query
  // Converts the error of a call to the error of the query, or to OK to continue with the other pieces. Null: the query
  // ends with the error of the call.
  std::function<Status(size_t piece, const Status& error)> handle_error = {};
};

// Requests all pieces, at most `max_in_flight` (positive) at a time. Calls `done` exactly once, after the last call has
// ended: with OK if handle_reply or handle_error succeeded for every piece, otherwise with the first error. After an
// error no further piece is requested.
void RequestInPieces(rpc::Callee callee, PiecewiseRequest request, size_t max_in_flight, Deadline deadline,
                     sampler::DoneStatus done);

}  // namespace espalier::client
