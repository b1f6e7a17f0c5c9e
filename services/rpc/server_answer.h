// UNAVAILABLE as an answer ("not yet", "busy"), which a server marks in the call's trailing metadata. gRPC's own, of a
// server out of reach, has no mark. Either is asked again; only the other kind is an outage.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include "services/base/status.h"

namespace espalier::rpc {

// Before the call is finished with this status.
void MarkAsAnswer(grpc::ServerContextBase& context, const Status& status);

// Of a call that has ended, not well.
bool WasAnswered(const grpc::ClientContext& context);

}  // namespace espalier::rpc
