// The all-reduce over gRPC: of programs (init_process_group.h), and of trainers under mutual TLS, which Gloo does
// without.
//
// Flow: RingEndpoint::Listen -> (rank 0's address is told to the others) -> ConnectRing.
// Order: a sum is ((x0 + x1) + x2) + ... for every element, whatever its place in the buffer: rank 0 sends its values
// in segments to rank 1, which adds its own and sends on; the last rank has the sums and sends them around. So sums
// are the same bits on every rank and in every run of the same size, and those of the in-process collective. All
// links are busy at the same time, and each carries an operation's bytes at most twice.
// Guarantees: a killed peer gives the others Unavailable within moments, a stopped one DeadlineExceeded at the
// deadline; either way all streams end at once, so that nobody waits for the dead.
#pragma once

#include <memory>
#include <string>

#include "services/client/ring/ring_endpoint.h"
#include "services/collective/collective.h"

namespace espalier::client {

// Returns when all ranks are connected. `rank0_address` is that of rank 0's endpoint.
Result<std::unique_ptr<collective::Collective>> ConnectRing(std::unique_ptr<RingEndpoint> endpoint,
                                                            const std::string& rank0_address, Deadline deadline);

}  // namespace espalier::client
