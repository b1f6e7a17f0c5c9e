// Checks a job document against the headers of its graph, before the graph is cut. The functions of this file look up
// names (types, columns, splits) and check whether the edge types of a task fit each other; document_fit.h checks
// dtypes, shapes and sizes.
#pragma once

#include <string>
#include <vector>

#include "services/job/parsing/parse.h"
#include "services/partitioner/checks/field_error.h"
#include "services/partitioner/checks/graph_names.h"

namespace espalier::partitioner {

// The program that reads spec.training: Espalier's trainers, or a user's program, which may use any part of it.
enum class TrainedBy { kEspalier, kProgram };

// Returns whether Espalier's trainers will read spec.training of `job`.
bool IsTrainedByEspalier(const job::DistTraining& job, TrainedBy trained_by);
// Returns whether the job only applies a trained model. Its graph then needs neither labels nor a split.
bool OnlyInfers(const job::Training& training);

// Returns an error for each name that does not exist, in the order of the document.
std::vector<FieldError> UnknownNames(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& graph);

// Returns InvalidArgument with all errors of UnknownNames or, if there are none, of FindMisfits. The message has one
// line per error, with its position in the document:
//   job.yaml:12:14: spec.training.task.label: node type 'paper' has no column 'lable' (did you mean 'label'?); it has:
//   feat, label
Status CheckDocument(const job::ParsedJob& job, TrainedBy trained_by, const GraphNames& graph);

}  // namespace espalier::partitioner
