// gRPC's callback threads belong to all channels and servers of the process together: when the last of them goes,
// it joins the threads. A call under way may hold the last reference to its channel, and then that happens on one of
// those very threads, which cannot join itself (gRPC 1.51 corrupts its memory).
#pragma once

namespace espalier::rpc {

// Keeps the callback threads for the rest of the process, by one channel that is never let go. Call it before the
// first channel or server is made; later calls cost nothing. Thread-safe.
void KeepCallbackThreads();

}  // namespace espalier::rpc
