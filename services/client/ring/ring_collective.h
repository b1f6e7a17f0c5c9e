// Collective operations over TCP connections, in plaintext or with mutual TLS, for trainers and programs
// (init_process_group.h).
//
// Usage: call RingEndpoint::Listen on every rank, distribute the address of rank 0, then call ConnectRing on every
// rank.
//
// Algorithm: every element is summed as ((x0 + x1) + x2) + ... Rank 0 sends its values in segments to rank 1. Each rank
// adds its own values and sends the partial sums to the next rank. The last rank computes the sums and sends them
// around the ring. The sums therefore have the same bits on every rank, in every run with the same world size, and in
// the in-process collective. With two ranks, small arrays are exchanged instead, and both ranks compute the sums.
// Segments are pipelined: all links are busy at the same time, and each link carries the bytes of an operation at most
// twice.
//
// Failures: if a peer is killed, the other ranks get Unavailable promptly. If its host vanishes, they get Unavailable
// after RingOptions::host_timeout. If the peer is suspended, they get DeadlineExceeded at the deadline, or Unavailable
// if the deadline of another rank passes earlier. In all cases every rank closes its connections, so that no rank
// waits for a failed rank. The values of a failed operation are undefined.
#pragma once

#include <memory>
#include <string>

#include "services/client/ring/ring_endpoint.h"
#include "services/collective/collective.h"

namespace espalier::client {

// Connects the ring and returns the group. Blocks until all ranks are connected. `rank0_address` is the address of the
// endpoint of rank 0; rank 0 ignores it. Errors are those of RingEndpoint::Join.
Result<std::unique_ptr<collective::Collective>> ConnectRing(std::unique_ptr<RingEndpoint> endpoint,
                                                            const std::string& rank0_address, Deadline deadline);

}  // namespace espalier::client
