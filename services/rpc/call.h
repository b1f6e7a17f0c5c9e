// Unary calls: one that is idempotent is tried again while the server cannot be reached, until the deadline.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/callee.h"

namespace espalier::rpc {

// Sends `request` to `method` ("/espalier.graph.v1.GraphStore/GatherRows") and calls `done` exactly once, with the
// reply or an error that names the peer. UNAVAILABLE is retried with jittered backoff as long as the deadline leaves
// room, and so is CANCELLED, which a server says that is going away: one that restarts in time is not noticed.
// Everything else is the caller's to decide. Where several servers give the same answers (callee.h), each attempt asks
// the one that is chosen then, at once while there is one that is not known to be out of reach. Once the peer's stop is
// asked for, the call ends with CANCELLED, whether an attempt or the wait for one is under way. Only for calls that may
// be applied twice. The state of the call lives until `done` has returned: on a gRPC thread, or on the caller's before
// this returns where the stop had been asked for already.
void CallWithRetries(Callee callee, const std::string& method, grpc::ByteBuffer request, Deadline deadline,
                     std::function<void(Result<grpc::ByteBuffer>)> done);

// The same with a single attempt, for calls that must not be applied twice: where it ends with UNAVAILABLE or
// DEADLINE_EXCEEDED, nobody knows whether the server has applied it.
void CallOnce(std::shared_ptr<Peer> peer, const std::string& method, grpc::ByteBuffer request, Deadline deadline,
              std::function<void(Result<grpc::ByteBuffer>)> done);

// CallWithRetries, waiting for the reply.
Result<grpc::ByteBuffer> CallAndWait(Callee callee, const std::string& method, grpc::ByteBuffer request,
                                     Deadline deadline);

}  // namespace espalier::rpc
