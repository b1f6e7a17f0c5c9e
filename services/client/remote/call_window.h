// A query that is split into several calls, with a limited number in flight and one completion.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/call.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// The functions may run concurrently for different pieces.
struct PiecedQuestion {
  std::string method;
  size_t num_pieces = 0;
  std::function<grpc::ByteBuffer(size_t piece)> request_of;
  std::function<Status(size_t piece, const grpc::ByteBuffer& reply)> take_reply;
  // Converts the error of a call to the error of the query; OK: the other pieces are still requested. Null: identity.
  std::function<Status(size_t piece, const Status& error)> take_error = {};
};

// Requests all pieces, at most `max_in_flight` at a time, and calls `done` exactly once when no call is in flight any
// more: with OK if take_reply or take_error succeeded for every piece, otherwise with the first error, after which no
// further piece is requested.
void AskInPieces(rpc::Callee callee, PiecedQuestion question, size_t max_in_flight, Deadline deadline,
                 sampler::DoneStatus done);

}  // namespace espalier::client
