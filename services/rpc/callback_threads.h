// All channels and servers of a process share gRPC's callback threads; destroying the last channel or server joins
// them. If the last reference to the last channel is held by a call in flight, it is released on one of these threads,
// which cannot join itself (gRPC 1.51 corrupts its memory).
#pragma once

namespace espalier::rpc {

// Keeps the callback threads until the process exits, by means of one channel that is never destroyed. To be called
// before the first channel or server is created; later calls have no effect. Thread-safe.
void KeepCallbackThreads();

}  // namespace espalier::rpc
