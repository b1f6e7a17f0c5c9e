// Process group of the ranks of a program: all-reduce, broadcast, gather and barrier (collective.h). Counterpart of
// torch.distributed.init_process_group.
//
//   ASSIGN_OR_RETURN(const auto group, client::InitProcessGroup(*graph, context, graph->CallDeadline()));
//   RETURN_IF_ERROR(group->AllReduceSum(gradients, graph->CallDeadline()));
//
// Rendezvous: rank 0 listens on a free port and writes its address to a tensor on the graph servers. The other ranks
// poll that tensor and connect to rank 0. The tensor is dropped when all ranks have joined or rank 0 has failed to
// connect them. No port has to be configured. Guarantees are those of the ring (ring_collective.h): sums have the same
// bits on every rank and in every run with the same number of ranks; if a rank dies, the pending operations of the
// other ranks fail promptly. Ranks of different incarnations never form a group. Caveat: if rank 0 is killed during the
// rendezvous, its address stays in the tensor until the launcher restarts all ranks with the next incarnation
// (ESPALIER_INCARNATION), as `espalier run` and `espalier launch` do.
#pragma once

#include <memory>

#include "services/client/graph/dist_graph.h"
#include "services/collective/collective.h"

namespace espalier::client {

// Joins the process group and blocks until all ranks are connected or the deadline has passed. Every rank must call
// this function once per incarnation of the job. `context` must be the graph's context. With a world size of 1 the
// function returns at once, without network access. DeadlineExceeded, Unavailable: a rank is missing. Cancelled: a
// stop was requested, by context.session.channel.stop or by the deadline's stop. FailedPrecondition: other machines can
// reach context.local_address, the connection is in plaintext, and context.plaintext_to_others is false.
Result<std::unique_ptr<collective::Collective>> InitProcessGroup(const DistGraph& graph, const Context& context,
                                                                 Deadline deadline);

}  // namespace espalier::client
