// A trainer's share of an epoch, derived from the job's document.
#pragma once

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/data/node_data.h"
#include "services/trainer/task/task.h"

namespace espalier::trainer {

// Returns the plan of one trainer's mini-batches, from which a MiniBatchSource is created. InvalidArgument or NotFound
// if the task does not fit the schema.
Result<sampler::EpochPlan> MakeEpochPlan(const job::Training& training, const graph::GraphSchema& schema,
                                         uint32_t num_trainers, Rank rank);

// Returns the number of steps in which every training node (or edge) of the task's split is a seed once. NotFound if
// the split does not exist; InvalidArgument if it has no training nodes (or edges) and the job trains.
Result<uint32_t> StepsPerEpoch(const job::Training& training, const Task& task, const NodeData& data,
                               const GraphAccess& graph);

}  // namespace espalier::trainer
