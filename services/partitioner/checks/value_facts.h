// Records properties of the values of a source before partitioning renumbers its rows, so that errors name the rows of
// the user's files (recorded_values.h), and copies the records to the manifest for jobs that reuse the partitioning.
#pragma once

#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"
#include "services/partitioner/checks/graph_metadata.h"

namespace espalier::partitioner {

struct RecordOptions {
  graph::LabelColumns labels = {};
  // Affects which edges match the endpoints that a split names: if it adds reverse edges to the same edge type, an edge
  // also matches if its reverse has these endpoints. If it drops duplicate edges, the labels of splits that name edges
  // by their endpoints are not recorded, because only the label of the duplicate that is kept counts.
  job::Preprocess preprocess = {};
  int threads = 1;
};

// Reads the values of `source` before it is preprocessed and records in `metadata`, the result of
// CollectMetadata(source, ...):
// - for each edge column with one value per edge: the first value that cannot be a weight, and whether all are 0;
// - for each node column: the first finite F64 value that is infinite as F32; if the column has one value per node,
//   also the first U64 value of 2^63 or more, which cannot be a time;
// - for each split: properties of the values in label columns, which are the columns in options.labels.labels and those
//   for which options.labels.MayLackValues returns true.
// Skips columns without one row for each node or edge of their type, and IDs that are out of range: ValidateSourceGraph
// rejects both.
void RecordValues(const graph::SourceGraph& source, const RecordOptions& options, GraphMetadata* metadata);

// Copies the records in `source`, which RecordValues has set, to the columns and splits of `manifest`. Both must have
// the same node and edge types.
void CopyRecordsToManifest(const GraphMetadata& source, format::Manifest* manifest);

}  // namespace espalier::partitioner
