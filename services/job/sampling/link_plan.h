// The document's task on edges, on a given graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/graph/schema.h"
#include "services/job/dist_training.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::job {

// spec.training.task.edgeType or edgeTypes, or every type of the graph, ascending, each once. Errors name the field.
Result<std::vector<EdgeTypeId>> FindEdgeTypes(const Task& task, const graph::GraphSchema& schema);

// The same as "source:relation:destination".
Result<std::vector<std::string>> CanonicalNamesOfEdgeTypes(const Task& task, const graph::GraphSchema& schema);

// The edge type that holds the edges of one of them the other way round: the one that the document names, else what
// addReverseEdges has made of it, or it of; else none.
Result<std::optional<EdgeTypeId>> FindReverseType(const Task& task, const graph::GraphSchema& schema, EdgeTypeId type);

// None for tasks on nodes. Errors, also where sampler::CheckLinkPlan refuses the plan, begin with the field and ": ".
Result<std::optional<sampler::LinkPlan>> MakeLinkPlan(const Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::job
