// What a job document names of its graph, looked for before the graph is cut: types, columns, splits, and whether the
// types of a task on edges fit each other. Whoever trains would find a name that is wrong only hours later, when the
// partitions of a large graph are served.
#pragma once

#include <string>
#include <vector>

#include "services/apps/partitioning/graph_names.h"
#include "services/job/parse.h"

namespace espalier::partitioning {

// Who reads spec.training. A program of the user's takes of it what it likes.
enum class TrainedBy { kEspalier, kProgram };

struct UnknownName {
  std::string path;  // "spec.training.task.label"
  std::string message;
};

// In the document's order. What the trainers of a job that only applies a model can do without (its label, its split)
// is not looked for.
std::vector<UnknownName> UnknownNames(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& graph);

// The same as InvalidArgument, a line each, with its place:
//   job.yaml:12:14: spec.training.task.label: node type 'paper' has no column 'lable' (did you mean 'label'?); it has:
//   feat, label
Status CheckNames(const job::ParsedJob& job, TrainedBy trained_by, const GraphNames& graph);

}  // namespace espalier::partitioning
