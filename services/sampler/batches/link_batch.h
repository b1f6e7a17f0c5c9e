// Mini-batches of link prediction: a trainer's share of a step's edges, their negatives, and the sampled neighbourhood
// of every node that is scored, drawn without the step's edges.
#pragma once

#include "services/sampler/batches/fanout_sampler.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/sampler/seeds/edge_exclusions.h"

namespace espalier::sampler {

// InvalidArgument where the plan does not fit the graph: no links, types that do not exist or that are named twice, a
// reverse type that does not lead back, no negatives of a kind other than kUniform, edge columns or ids
// of several types.
Status CheckLinkPlan(const EpochPlan& plan, const graph::GraphSchema& schema);

// The mini-batch of (epoch, step) for plan.rank. A pure function of the graph, the plan and the sampler's spec; the
// negatives, and the neighbours drawn, do not depend on partitions or on the number of trainers. The plan has passed
// CheckLinkPlan. `seed` is the run's.
//
// Seeds are, of each node type, the distinct nodes of the share's pairs by first occurrence: for each edge its source,
// its destination, its negatives' ends (source before destination). Pairs stand in batch order; those that share
// negatives (kJoint) by the node type of their destinations first.
Result<MiniBatch> MakeLinkBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline);

}  // namespace espalier::sampler
