// Unary calls. Idempotent calls are retried until the deadline while the server cannot be reached.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>

#include "services/rpc/callee.h"

namespace espalier::rpc {

// Sends `request` to `method` ("/espalier.graph.v1.GraphStore/GatherRows") and calls `done` exactly once, with the
// reply or an error that names the peer. Only for calls that the server may apply twice. Retries after UNAVAILABLE, and
// after CANCELLED, which a server returns while it shuts down, with jittered backoff until the deadline; so the caller
// does not notice a restart of the server within the deadline. Other errors are returned. With several replicas
// (callee.h) each attempt chooses one, without backoff while a replica is available. When a stop is requested
// through the stop token of the peer or of the deadline, the call ends with CANCELLED, during an attempt as well as
// during a backoff. `done` runs on a gRPC thread, unless a stop was requested before the call or the process was forked
// (FAILED_PRECONDITION, forked.h): then it runs on the calling thread before this function returns. The state of the
// call lives until `done` has returned.
void CallWithRetries(Callee callee, const std::string& method, const grpc::ByteBuffer& request, Deadline deadline,
                     std::function<void(Result<grpc::ByteBuffer>)> done);

// Like CallWithRetries, but with a single attempt, for calls that must not be applied twice. After UNAVAILABLE,
// DEADLINE_EXCEEDED or CANCELLED it is unknown whether the server has applied the call.
void CallOnce(std::shared_ptr<Peer> peer, const std::string& method, const grpc::ByteBuffer& request, Deadline deadline,
              std::function<void(Result<grpc::ByteBuffer>)> done);

// Like CallWithRetries, but blocks until the call has ended, and returns its result.
Result<grpc::ByteBuffer> CallAndWait(Callee callee, const std::string& method, const grpc::ByteBuffer& request,
                                     Deadline deadline);

}  // namespace espalier::rpc
