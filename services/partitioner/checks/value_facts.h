// Records in a manifest what its source's values are, for jobs that reuse the partitioning (recorded_values.h).
#pragma once

#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"
#include "services/partitioner/checks/graph_names.h"

namespace espalier::partitioner {

// Sets what headers say of values: weights of edge columns, F64 features and U64 times of node columns, and the labels
// of each split in columns that `labels` allows to lack values. Reads those values. `names`: CollectNames(source, ...).
void RecordValues(const graph::SourceGraph& source, const graph::LabelColumns& labels, int threads, GraphNames* names);

// Sets what the columns and splits of a manifest say of their values from the headers of its source. Both must have the
// same types.
void RecordValues(const GraphNames& source, format::Manifest* manifest);

}  // namespace espalier::partitioner
