// Builds the partitions of an assignment one by one, writes each as it is built, and describes them in a manifest.
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
  std::function<Status(uint32_t written)> before_partition;
  std::function<bool()> stop_requested;  // called while a partition is written; true: Cancelled. May be null.
  WorkMeter* meter = nullptr;            // counts the bytes of partitions as they are written, unless null
};

// Returns a manifest with the properties of the graph: attempt, name, order of in-edges, source columns, partition book
// and splits. Partitions and columns are not set.
format::Manifest DescribeGraph(const graph::SourceGraph& graph, const graph::PartitionBook& book,
                               const std::string& attempt, const partition::BuildOptions& build);
// Adds the names, dtypes and row shapes of the columns to `manifest`. `partition` may be any partition of the graph:
// all have the same columns.
void DescribeColumns(const graph::Partition& partition, format::Manifest* manifest);

// Writes the files of all partitions below `<prefix>/<attempt>/`. Returns the manifest that describes them (book,
// columns, splits, files, order of in-edges); the caller commits it.
Result<format::Manifest> WritePartitions(storage::ObjectStore& store, const std::string& prefix,
                                         const std::string& attempt, const graph::SourceGraph& graph,
                                         const partition::Assignment& assignment,
                                         const PartitionWriterOptions& options);

// Sets `held_out` of the edge splits in `manifest` whose validation and test edges Preprocess held out.
void DescribeHeldOut(const graph::HeldOutEdges& held_out, bool add_reverse_edges, format::Manifest* manifest);

}  // namespace espalier::partitioner
