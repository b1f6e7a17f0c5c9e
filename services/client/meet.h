// The ranks of a user's program as a group: all-reduce, broadcast, gather and barrier (collective.h). What
// torch.distributed's init_process_group is to a DGL script.
//
//   ASSIGN_OR_RETURN(const auto group, client::Meet(*graph, context, graph->CallDeadline()));
//   RETURN_IF_ERROR(group->AllReduceSum(gradients, graph->CallDeadline()));
//
// Flow: rank 0 listens at a free port and leaves its address in a tensor on the graph servers; the others find it there
// and join; when all are there the tensor goes. Nobody needs to know a port beforehand.
// Guarantees: those of the ring (ring_collective.h): sums have the same bits on every rank and in every run with as
// many ranks; who dies ends the others' operations within moments. Ranks of different incarnations never meet. Caveat:
// a rank 0 that is killed while ranks meet leaves its address behind for its incarnation. Whoever starts the ranks
// again gives them the next one (ESPALIER_INCARNATION), as `run` and `launch` do.
#pragma once

#include <memory>

#include "services/client/dist_graph.h"
#include "services/collective/collective.h"

namespace espalier::client {

// Called by every rank once in an incarnation of a job; returns when all are connected, and by the deadline. `context`
// is the graph's. Alone in its world a rank asks nobody. DeadlineExceeded, Unavailable: somebody is missing; Cancelled:
// the channel's stop; FailedPrecondition: context.local_address is one that other machines reach, the connection is in
// the clear, and context.plaintext_to_others does not allow that.
Result<std::unique_ptr<collective::Collective>> Meet(const DistGraph& graph, const Context& context, Deadline deadline);

}  // namespace espalier::client
