// Builds the partitions of an assignment one by one, writes each partition when it is built, and describes all
// partitions in a manifest.
#pragma once

#include <functional>
#include <string>

#include "services/base/work_meter.h"
#include "services/format/partition/manifest.h"
#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/partition/partitioner.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

struct PartitionWriterOptions {
  partition::BuildOptions build;
  uint32_t num_partitions = 1;
  // Called before each partition with the number of partitions written so far; WritePartitions returns its error.
  // May be null.
  std::function<Status(uint32_t written)> before_partition;
  // Called while a partition is written. If it returns true, WritePartitions returns Cancelled. May be null.
  std::function<bool()> stop_requested;
  WorkMeter* meter = nullptr;  // unless null, counts the bytes of the partitions that have been written
};

// Returns a manifest with the properties of the graph: attempt, name, order of in-edges, source columns, partition book
// and splits. Partitions and columns are not set.
format::Manifest DescribeGraph(const graph::SourceGraph& graph, const graph::PartitionBook& book,
                               const std::string& attempt, const partition::BuildOptions& build);
// Adds the names, dtypes, row shapes and scales of the columns to `manifest`, and sets its format version. `partition`
// may be any partition of the graph, because all partitions have the same columns.
void DescribeColumns(const graph::Partition& partition, format::Manifest* manifest);

// Writes the files of all partitions below `<prefix>/<attempt>/`. Returns the manifest that describes them (book,
// columns, splits, files, order of in-edges); the caller commits it. Errors: those of CheckTimeColumn,
// CheckSourceColumns, MakePartitionLayout, before_partition and the store; Cancelled.
Result<format::Manifest> WritePartitions(storage::ObjectStore& store, const std::string& prefix,
                                         const std::string& attempt, const graph::SourceGraph& graph,
                                         const partition::Assignment& assignment,
                                         const PartitionWriterOptions& options);

// Sets `held_out` of the edge splits in `manifest` whose validation and test edges Preprocess held out.
void DescribeHeldOut(const graph::HeldOutEdges& held_out, bool add_reverse_edges, format::Manifest* manifest);

}  // namespace espalier::partitioner
