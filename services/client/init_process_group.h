// The process group of a user program: all-reduce, broadcast, gather and barrier (collective.h). Counterpart of
// torch.distributed.init_process_group.
//
//   ASSIGN_OR_RETURN(const auto group, client::InitProcessGroup(*graph, context, graph->CallDeadline()));
//   RETURN_IF_ERROR(group->AllReduceSum(gradients, graph->CallDeadline()));
// Rendezvous: rank 0 listens on a free port and writes its address to a tensor on the graph servers; the other ranks
// read it and connect; the tensor is dropped when all ranks are connected. No port has to be configured. Guarantees are
// those of the ring (ring_collective.h): sums have the same bits on every rank and in every run with the same world
// size; if a rank dies, the operations of the others fail promptly. Ranks of different incarnations never connect. If
// rank 0 is killed during the rendezvous, its address remains for that incarnation; a restart must use the next
// incarnation (ESPALIER_INCARNATION), as `run` and `launch` do.
#pragma once

#include <memory>

#include "services/client/dist_graph.h"
#include "services/collective/collective.h"

namespace espalier::client {

// Connects the ranks; every rank calls it once per incarnation. Blocks until all ranks are connected, at most until the
// deadline. `context` is the one that `graph` was opened with. With a world size of 1 no request is sent. Errors:
// DeadlineExceeded, Unavailable: a rank is missing; Cancelled: the stop of the channel was requested;
// FailedPrecondition: other machines can reach context.local_address, there is no TLS, and context.plaintext_to_others
// is false.
Result<std::unique_ptr<collective::Collective>> InitProcessGroup(const DistGraph& graph, const Context& context,
                                                                 Deadline deadline);

}  // namespace espalier::client
