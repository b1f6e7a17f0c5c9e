// What a trainer's share of an epoch is, as the document says it.
#pragma once

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/mini_batch_source.h"

namespace espalier::trainer {

// What a trainer's mini-batches are; for whoever makes the MiniBatchSource.
Result<sampler::EpochPlan> EpochPlanOf(const job::Training& training, const graph::GraphSchema& schema,
                                       uint32_t num_trainers, Rank rank);

}  // namespace espalier::trainer
