// Resolves the edge types of a document's task against the schema of a graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::job {

// Returns the ids, in ascending order, of the edge types that spec.training.task.edgeType or edgeTypes names, or of all
// edge types of the graph if both fields are empty. Errors, which begin with the field and ": ": an unknown type, a
// type that is named twice, a graph without edge types.
Result<std::vector<EdgeTypeId>> FindEdgeTypes(const Task& task, const graph::GraphSchema& schema);

// Returns the names of FindEdgeTypes as "source:relation:destination".
Result<std::vector<std::string>> CanonicalNamesOfEdgeTypes(const Task& task, const graph::GraphSchema& schema);

// Returns the edge type with the reverse edges of `type`: spec.training.task.reverseEdgeType; if that is empty, the one
// that addReverseEdges pairs with `type` (`type` itself for a homogeneous graph); nullopt if neither is set.
// InvalidArgument, only if reverseEdgeType is set: the task has edgeTypes; the task has no edgeType and the graph has
// several edge types; or addReverseEdges is set too and pairs `type` with another type (heterogeneous graphs only).
// NotFound if the graph lacks the reverse type.
Result<std::optional<EdgeTypeId>> FindReverseType(const Task& task, const graph::GraphSchema& schema, EdgeTypeId type);

// Returns the plan for sampling edges and negatives, checked by sampler::CheckLinkPlan, or nullopt for tasks other than
// LinkPrediction. Errors begin with the field and ": ".
Result<std::optional<sampler::LinkPlan>> MakeLinkPlan(const Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::job
