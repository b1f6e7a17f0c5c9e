// Mini-batches of edge classification and regression: a trainer's share of a step's edges with their labels, and the
// sampled neighborhood of their endpoints.
#pragma once

#include "services/sampler/batches/fanout_sampler.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::sampler {

// Returns InvalidArgument if an edge type of the plan does not exist, the label's name is empty, or the reverse type
// does not reverse the node types or is set without exclude_batch. Does not check that the label's column exists.
Status CheckEdgePlan(const EdgePlan& plan, const graph::GraphSchema& schema);

// Returns the mini-batch of (epoch, step) for plan.rank, a pure function of the graph, the plan, `seed` and the
// sampler's spec. Neither the step's edges nor the drawn neighbors depend on partitions or on the number of trainers;
// the exception is Expand::kOnce, with which the neighbors depend on the share. plan.edges() must have passed
// CheckEdgePlan. `seed` is the run's seed. If want_edge_ids, the blocks have edge ids.
//
// The seeds of each node type are the distinct endpoints of the share's edges in order of first occurrence, source
// before destination. InvalidArgument if a seed edge's label is missing or ambiguous (SeedQuery::edge_column).
Result<MiniBatch> MakeEdgeBatch(SeedSource& seeds, FanoutSampler& sampler, const graph::PartitionBook& book,
                                const EpochPlan& plan, uint64_t seed, uint32_t epoch, uint32_t step, bool want_edge_ids,
                                Deadline deadline);

}  // namespace espalier::sampler
