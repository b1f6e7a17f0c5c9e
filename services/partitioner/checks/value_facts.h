// Records what the values of a source are before partitioning renumbers its rows, so that errors name the user's rows
// (recorded_values.h), and copies the records to the manifest for jobs that reuse the partitioning.
#pragma once

#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"
#include "services/partitioner/checks/graph_names.h"

namespace espalier::partitioner {

struct RecordOptions {
  graph::LabelColumns labels = {};
  // Decides which edges have the endpoints that a split names. Where it drops duplicate edges the labels of such splits
  // are not recorded: only the edge that is kept has the label.
  job::Preprocess preprocess = {};
  int threads = 1;
};

// Reads the values of `source`, as it was read and before it is preprocessed, and sets in `names`, which is
// CollectNames(source, ...): the first value of each edge column that is not a weight, and whether all are 0; of each
// node column the first F64 value that is infinite as F32 and the first U64 time of 2^63 or later; and of each split
// the labels in columns that are named by `labels` or that it allows to lack values. Columns whose length is not that
// of their type, and IDs that are out of range, are skipped: graph::ValidateSourceGraph refuses them.
void RecordValues(const graph::SourceGraph& source, const RecordOptions& options, GraphNames* names);

// Copies what `source`, the headers of a source, records of its values to the columns and splits of a manifest with the
// same types.
void RecordValues(const GraphNames& source, format::Manifest* manifest);

}  // namespace espalier::partitioner
