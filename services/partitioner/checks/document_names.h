// Checks a job document against the headers of its graph, before the graph is cut. FindUnknownNames looks up names
// (types, columns, splits) and checks whether the edge types of a task fit each other; document_fit.h checks dtypes,
// shapes and sizes.
#pragma once

#include <string>
#include <vector>

#include "services/job/parsing/parse.h"
#include "services/partitioner/checks/field_error.h"
#include "services/partitioner/checks/graph_metadata.h"

namespace espalier::partitioner {

// The program that reads spec.training: Espalier's trainers, or a user's program, which may use any part of it.
enum class TrainedBy { kEspalier, kProgram };

// Returns whether Espalier's trainers will read spec.training of `job`.
bool IsTrainedByEspalier(const job::DistTraining& job, TrainedBy trained_by);
// Returns whether the job only applies a trained model. Its graph then needs neither labels nor a split.
bool OnlyInfers(const job::Training& training);

// Returns an error for each type, column and split in the document that the graph does not have, in the order of the
// document, and the errors of job::MakeEdgePlan and job::MakeLinkPlan for the task's edge types. Checks spec.training
// only if IsTrainedByEspalier. If several edge types lack the task's split, names only the first one.
std::vector<FieldError> FindUnknownNames(const job::DistTraining& job, TrainedBy trained_by,
                                         const GraphMetadata& graph);

// Returns InvalidArgument with all errors of FindUnknownNames or, if there are none, of FindMisfits. The message has
// one line per error, with its position in the document:
//   job.yaml:12:14: spec.training.task.label: node type 'paper' has no column 'lable' (did you mean 'label'?); it has:
//   feat, label
Status CheckDocument(const job::ParsedJob& job, TrainedBy trained_by, const GraphMetadata& graph);

}  // namespace espalier::partitioner
