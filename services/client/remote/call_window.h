// A query that is split into several calls, with a limited number in flight and one completion.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/call.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// A query in pieces. Its functions may be called concurrently for different pieces.
struct PiecewiseRequest {
  std::string method;
  size_t num_pieces = 0;
  std::function<grpc::ByteBuffer(size_t piece)> request_of;                       // returns the request for a piece
  std::function<Status(size_t piece, const grpc::ByteBuffer& reply)> take_reply;  // an error ends the query
  // Converts the error of a call to the error of the query, or to OK to continue with the other pieces. Null: the query
  // ends with the error of the call.
  std::function<Status(size_t piece, const Status& error)> take_error = {};
};

// Requests all pieces, at most `max_in_flight` (positive) at a time. Calls `done` exactly once, when no call is in
// flight any more: with OK if take_reply or take_error succeeded for every piece, otherwise with the first error. After
// an error no further piece is requested.
void RequestInPieces(rpc::Callee callee, PiecewiseRequest request, size_t max_in_flight, Deadline deadline,
                     sampler::DoneStatus done);

}  // namespace espalier::client
