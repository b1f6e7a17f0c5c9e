// Checks the column values that a job document needs before partitioning renumbers the rows, so that errors name the
// user's rows.
#pragma once

#include "services/graph/source_graph.h"
#include "services/partitioner/checks/document_names.h"

namespace espalier::partitioner {

// `source` is the graph as it was read, not yet preprocessed; `names` are its headers, and CheckDocument was ok. Reads
// the weights of every edge that layers draw, the labels of the task's split and the seeds' times, with `threads`
// threads. Columns whose length is not that of their type are left to graph::ValidateSourceGraph.
// Returns InvalidArgument for the first weight that is negative or not finite, the first label that is no class in
// [0, job::kMostClasses), -1 or NaN (multi-label: not 0, 1, -1 or NaN; regression: infinite as F32), the first F64
// feature that is infinite as F32, the first time of 2^63 or later; and where all weights are 0, or no node or edge of
// the training part has a label (not for a split that names edges by their ends, which trainers check). The message
// names the field, the column and the row:
//   spec.training.sampling.weight: row 17 of column 'w' of edge type 'a:r:b' is -2.5: expected a finite weight, 0 or
//   larger
Status CheckSourceValues(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& names,
                         const graph::SourceGraph& source, int threads);

}  // namespace espalier::partitioner
