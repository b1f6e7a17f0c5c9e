// Resolves the edge classification or regression task of a document against the schema of a graph.
#pragma once

#include <optional>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::job {

// Returns the edge type spec.training.task.edgeType; if that is empty, the only edge type of the graph. Errors begin
// with the field and ": ".
Result<EdgeTypeId> FindLabeledEdgeType(const Task& task, const graph::GraphSchema& schema);

// Returns the plan for sampling labeled edges, checked by sampler::CheckEdgePlan, or nullopt for other tasks. Errors
// begin with the field and ": ".
Result<std::optional<sampler::EdgePlan>> MakeEdgePlan(const Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::job
