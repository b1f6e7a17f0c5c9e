// Checks, from headers alone, whether the dtypes and shapes of columns and the sizes of splits are those that a job
// document needs. Without this check, a graph server would reject a column of the wrong dtype only after the graph has
// been cut.
#pragma once

#include <vector>

#include "services/partitioner/checks/document_names.h"

namespace espalier::partitioner {

// Returns the errors, in the order of the document. Errors are: labels and features of the wrong shape; weights and
// times of the wrong dtype or shape; edge types that a layer samples but that have no weight column; required parts of
// a split that are empty. Unless IsTrainedByEspalier, checks only spec.graph.timeColumn. All names must exist:
// FindUnknownNames must have returned no errors.
std::vector<FieldError> FindMisfits(const job::DistTraining& job, TrainedBy trained_by, const GraphMetadata& graph);

// Returns, by EdgeTypeId, whether the layers of `sampling` sample edges of the type: it has a nonzero fan-out in a
// layer in which its destination type is reached from seed nodes of `seed_types`. The layers' edge types must exist.
std::vector<bool> FindSampledEdgeTypes(const job::Sampling& sampling, const graph::GraphSchema& schema,
                                       const std::vector<NodeTypeId>& seed_types);

// Returns the node types of the seed nodes of the task's mini-batches: for tasks on edges, the types of both endpoints.
// The task's types must exist.
std::vector<NodeTypeId> FindSeedNodeTypes(const job::Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::partitioner
