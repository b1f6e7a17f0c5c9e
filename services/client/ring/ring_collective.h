// Collective operations over TCP connections, of trainers and of programs (init_process_group.h), in plaintext or with
// mutual TLS.
// Usage: RingEndpoint::Listen, distribute the address of rank 0, then ConnectRing on every rank.
// Algorithm: every element is summed as ((x0 + x1) + x2) + ... : rank 0 sends its values in segments to rank 1, which
// adds its own and sends the partial sums on; the last rank has the sums and sends them around the ring. Sums therefore
// have the same bits on every rank, in every run with the same world size, and as those of the in-process collective.
// Two ranks with few values send them to each other, and each adds: the same sums. Segments are pipelined:
// all links are busy at the same time, and each carries the bytes of an operation at most twice. Failures: if a peer is
// killed, the other ranks get Unavailable promptly; if its host vanishes, Unavailable after RingOptions::host_timeout;
// if it is suspended, DeadlineExceeded at the deadline. In all cases all connections end, so that no rank waits for a
// failed one. Values after a failed operation are undefined.
#pragma once

#include <memory>
#include <string>

#include "services/client/ring/ring_endpoint.h"
#include "services/collective/collective.h"

namespace espalier::client {

// Blocks until all ranks are connected. `rank0_address` is the address of the endpoint of rank 0.
Result<std::unique_ptr<collective::Collective>> ConnectRing(std::unique_ptr<RingEndpoint> endpoint,
                                                            const std::string& rank0_address, Deadline deadline);

}  // namespace espalier::client
