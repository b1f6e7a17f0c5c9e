// What a trainer's share of an epoch is, as the document says it.
#pragma once

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/data/node_data.h"

namespace espalier::trainer {

// What a trainer's mini-batches are; for whoever makes the MiniBatchSource.
Result<sampler::EpochPlan> MakeEpochPlan(const job::Training& training, const graph::GraphSchema& schema,
                                         uint32_t num_trainers, Rank rank);

// How many steps take every training node, or edge, of the task's split once. NotFound where there is no such split;
// InvalidArgument where it has none and the job trains.
Result<uint32_t> StepsPerEpoch(const job::Training& training, const NodeData& data, const GraphAccess& graph);

}  // namespace espalier::trainer
