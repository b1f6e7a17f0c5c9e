// The document's edge classification or regression, on a given graph.
#pragma once

#include <optional>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::job {

// spec.training.task.edgeType; "" is the graph's only edge type. Errors name the field.
Result<EdgeTypeId> FindLabelledEdgeType(const Task& task, const graph::GraphSchema& schema);

// None for other tasks. Errors, also where sampler::CheckEdgePlan refuses the plan, begin with the field and ": ".
Result<std::optional<sampler::EdgePlan>> MakeEdgePlan(const Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::job
