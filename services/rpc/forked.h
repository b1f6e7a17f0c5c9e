// gRPC does not work in a child process that was forked after its parent used gRPC: its threads are missing there, and
// its epoll set is shared, so that a call in the child crashes the parent. Clients refuse such calls.
#pragma once

#include "services/base/status.h"

namespace espalier::rpc {

// Records that this process uses gRPC from now on. Thread-safe.
void UseGrpcInThisProcess();
// Returns FailedPrecondition in a process that was forked after its parent used gRPC. Thread-safe.
Status CheckNotForked();

}  // namespace espalier::rpc
