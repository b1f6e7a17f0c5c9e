// Checks dtypes, shapes and split sizes that a job document needs, from headers alone. A column of the wrong dtype
// would otherwise be refused by a graph server after the graph has been cut.
#pragma once

#include <vector>

#include "services/partitioner/checks/document_names.h"

namespace espalier::partitioner {

// Returns what does not fit, in the document's order: labels, features, weights and times of the wrong dtype or shape,
// edge types without the weights that layers draw by, parts of a split that are empty and needed. Every name must exist
// (UnknownNames returned none).
std::vector<FieldError> FindMisfits(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& graph);

// Returns which edge types the layers of `sampling` draw, by EdgeTypeId: those with a fan-out whose destination type is
// reached from nodes of `seed_types`. The layers' edge types must exist.
std::vector<bool> DrawnEdgeTypes(const job::Sampling& sampling, const graph::GraphSchema& schema,
                                 const std::vector<NodeTypeId>& seed_types);

// Returns the node types that mini-batches of the task begin with. The task's types must exist.
std::vector<NodeTypeId> SeedTypes(const job::Task& task, const graph::GraphSchema& schema);

}  // namespace espalier::partitioner
