// The document's edge classification or regression, on a given graph.
#pragma once

#include <optional>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/mini_batch_source.h"

namespace espalier::trainer {

// spec.training.task.edgeType; "" is the graph's only edge type. Errors name the field.
Result<EdgeTypeId> LabelledEdgeTypeOf(const job::Task& task, const graph::GraphSchema& schema);

// None for other tasks. Errors name the field.
Result<std::optional<sampler::EdgePlan>> EdgePlanOf(const job::Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::trainer
