// Records properties of the values of a source before partitioning renumbers its rows, so that errors name the rows of
// the user's files (recorded_values.h), and copies the records to the manifest for jobs that reuse the partitioning.
#pragma once

#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"
#include "services/partitioner/checks/graph_names.h"

namespace espalier::partitioner {

struct RecordOptions {
  graph::LabelColumns labels = {};
  // Determines which edges have the endpoints that a split names. If it drops duplicate edges, labels of splits that
  // name edges by endpoints are not recorded, because only the edge that is kept has the label.
  job::Preprocess preprocess = {};
  int threads = 1;
};

// Reads the values of `source` before it is preprocessed and records in `names`, made by CollectNames(source, ...):
// - for each edge column with one value per edge: the first value that cannot be a weight, and whether all are 0;
// - for each node column: the first F64 value that is infinite as F32, and the first U64 time of 2^63 or later;
// - for each split: properties of the labels in the columns that `labels` names or allows to lack values.
// Skips columns whose length is not that of their type and IDs that are out of range; ValidateSourceGraph rejects them.
void RecordValues(const graph::SourceGraph& source, const RecordOptions& options, GraphNames* names);

// Copies the records in `source`, the headers of a source after RecordValues, to the columns and splits of a manifest
// with the same types.
void RecordValues(const GraphNames& source, format::Manifest* manifest);

}  // namespace espalier::partitioner
