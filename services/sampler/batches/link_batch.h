// Mini-batches of link prediction: a trainer's share of a step's edges, their negatives, and the sampled neighborhood
// of every scored node, drawn without the step's edges if LinkPlan::exclude_batch is set.
#pragma once

#include "services/sampler/batches/fanout_sampler.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/seeds/edge_exclusions.h"

namespace espalier::sampler {

// Returns InvalidArgument if the plan does not fit the graph: no links, edge types that do not exist or are named
// twice, a reverse type that does not reverse the node types, 0 negatives with a kind other than kUniform, an edge
// column without a name, or edge columns or ids with several edge types.
Status CheckLinkPlan(const EpochPlan& plan, const graph::GraphSchema& schema);

// Returns the mini-batch of (epoch, step) for plan.rank, a pure function of the graph, the plan, `seed` and the
// sampler's spec. Neither negatives nor neighbors depend on partitions or on the number of trainers; the exception is
// Expand::kOnce, with which neighbors depend on the share. The plan has passed CheckLinkPlan. `seed` is the run's;
// want_edge_ids sets Block::edge_ids. ResourceExhausted: the share would have more than 2^28 negatives.
//
// The seeds of each node type are the distinct nodes of the share's pairs in order of first occurrence: for each edge
// its source, its destination, then the endpoints of its negatives (source before destination). Pairs are in batch
// order. With kJoint, the pairs of each group of the batch (FindJointGroup) are first ordered by the node type of their
// destinations, so that pairs that share negatives are adjacent.
Result<MiniBatch> MakeLinkBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline);

}  // namespace espalier::sampler
