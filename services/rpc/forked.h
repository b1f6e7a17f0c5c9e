// gRPC does not work in a child process that was forked after the parent used gRPC: the child lacks gRPC's threads and
// shares its epoll set, so that a call in the child crashes the parent. Such calls are refused with
// FAILED_PRECONDITION.
#pragma once

#include "services/base/status.h"

namespace espalier::rpc {

// Records that this process uses gRPC. Called before the first channel or server. Thread-safe.
void RecordUseOfGrpc();
// Returns FailedPrecondition in a process that was forked after its parent used gRPC. Thread-safe.
Status CheckNotForked();

}  // namespace espalier::rpc
