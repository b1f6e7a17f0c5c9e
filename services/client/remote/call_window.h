// A question cut into pieces: a few calls in flight at a time, one completion at the end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/call.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// What is asked. The functions may run on several threads at once, for different pieces.
struct PiecedQuestion {
  std::string method;
  size_t num_pieces = 0;
  std::function<grpc::ByteBuffer(size_t piece)> request_of;
  std::function<Status(size_t piece, const grpc::ByteBuffer& reply)> take_reply;
  // What a call's error makes of the question: ok where the other pieces are still to be asked for. None: the error.
  std::function<Status(size_t piece, const Status& error)> take_error = {};
};

// Asks all pieces, at most `max_in_flight` at once, and calls `done` exactly once when no call is under way any more:
// ok when every piece, or its error, was taken, else the first error. After that no further piece is asked for.
void AskInPieces(rpc::Callee callee, PiecedQuestion question, size_t max_in_flight, Deadline deadline,
                 sampler::DoneStatus done);

}  // namespace espalier::client
