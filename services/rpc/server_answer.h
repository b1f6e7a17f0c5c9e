// Marks UNAVAILABLE statuses that a server returned on purpose ("not yet", "busy") in the trailing metadata of the
// call. UNAVAILABLE that gRPC generates for an unreachable server has no mark. Calls are retried after both, but
// only a status without the mark counts as an outage.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include "services/base/status.h"

namespace espalier::rpc {

// Marks the call if `status` is UNAVAILABLE. Must be called before the call is finished with this status.
void MarkAsAnswer(grpc::ServerContextBase& context, const Status& status);

// Returns whether the error of this finished call is marked.
bool WasAnswered(const grpc::ClientContext& context);

}  // namespace espalier::rpc
