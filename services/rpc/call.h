// Unary calls. Idempotent calls are retried until the deadline while the server cannot be reached.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/callee.h"

namespace espalier::rpc {

// Sends `request` to `method` ("/espalier.graph.v1.GraphStore/GatherRows") and calls `done` exactly once, with the
// reply or an error that names the peer. Only for calls that may be applied twice. Retries, with jittered backoff until
// the deadline: UNAVAILABLE, and CANCELLED, which a server returns while it shuts down; a restart of the server within
// the deadline is therefore invisible. Other errors are returned. With several replicas (callee.h) each attempt chooses
// one, without backoff while a replica is available. When the stop of the peer or of the deadline is requested, the
// call ends with CANCELLED, during an attempt as well as during a backoff. `done` runs on a gRPC thread. If a stop was
// requested before the call, or the process was forked (FAILED_PRECONDITION, forked.h), `done` runs on the calling
// thread before this function returns. The state of the call lives until `done` has returned.
void CallWithRetries(Callee callee, const std::string& method, const grpc::ByteBuffer& request, Deadline deadline,
                     std::function<void(Result<grpc::ByteBuffer>)> done);

// The same with a single attempt, for calls that must not be applied twice. After UNAVAILABLE or DEADLINE_EXCEEDED it
// is unknown whether the server has applied the call.
void CallOnce(std::shared_ptr<Peer> peer, const std::string& method, const grpc::ByteBuffer& request, Deadline deadline,
              std::function<void(Result<grpc::ByteBuffer>)> done);

// Blocks until CallWithRetries is done and returns the reply.
Result<grpc::ByteBuffer> CallAndWait(Callee callee, const std::string& method, const grpc::ByteBuffer& request,
                                     Deadline deadline);

}  // namespace espalier::rpc
