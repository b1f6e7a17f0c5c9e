// The document's task on edges, on a given graph.
#pragma once

#include <optional>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/mini_batch_source.h"

namespace espalier::trainer {

// spec.training.task.edgeType; "" is the only type of a graph that has one.
Result<EdgeTypeId> EdgeTypeOf(const job::Task& task, const graph::GraphSchema& schema);

// The edge type that holds the task's edges the other way round: the one that the document names, else what
// addReverseEdges has made, else none.
Result<std::optional<EdgeTypeId>> ReverseTypeOf(const job::Task& task, const graph::GraphSchema& schema);

// None for tasks on nodes. Errors name the field.
Result<std::optional<sampler::LinkPlan>> LinkPlanOf(const job::Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::trainer
