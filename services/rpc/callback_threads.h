// All channels and servers of a process share gRPC's callback threads; destroying the last channel or server joins
// the threads. If a call in flight holds the last reference to the last channel, one of these threads destroys the
// channel; it cannot join itself, and gRPC 1.51 then corrupts memory.
#pragma once

namespace espalier::rpc {

// Keeps the callback threads until the process exits, with a channel that is never destroyed. Must be called before the
// first channel or server is created; later calls have no effect. Thread-safe.
void KeepCallbackThreads();

}  // namespace espalier::rpc
