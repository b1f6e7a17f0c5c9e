// Checks a job document against the headers of its graph, before the graph is cut. The names are looked up here: types,
// columns, splits, and whether the edge types of a task fit each other. document_fit.h checks their dtypes, shapes and
// sizes.
#pragma once

#include <string>
#include <vector>

#include "services/job/parse.h"
#include "services/partitioner/checks/field_error.h"
#include "services/partitioner/checks/graph_names.h"

namespace espalier::partitioner {

// Which program reads spec.training. A user's program may use any part of it.
enum class TrainedBy { kEspalier, kProgram };

// Returns whether Espalier's trainers will read spec.training of `job`.
bool IsTrainedByEspalier(const job::DistTraining& job, TrainedBy trained_by);
// Returns whether the job applies a model and trains nothing: its graph needs neither labels nor a split.
bool OnlyInfers(const job::Training& training);

// Returns the names that do not exist, in the document's order.
std::vector<FieldError> UnknownNames(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& graph);

// Returns InvalidArgument with all errors of UnknownNames, or where there are none of FindMisfits: one line each, with
// its place in the document:
//   job.yaml:12:14: spec.training.task.label: node type 'paper' has no column 'lable' (did you mean 'label'?); it has:
//   feat, label
Status CheckDocument(const job::ParsedJob& job, TrainedBy trained_by, const GraphNames& graph);

}  // namespace espalier::partitioner
