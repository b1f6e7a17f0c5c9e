// Builds the partitions of an assignment one by one and writes each as it is built.
#pragma once

#include <functional>
#include <string>

#include "services/base/work_meter.h"
#include "services/format/manifest.h"
#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/partition/partitioner.h"
#include "services/storage/object_store.h"

namespace espalier::partitioner {

struct PartitionWriterOptions {
  partition::BuildOptions build;
  uint32_t num_partitions = 1;
  // Called before each partition with how many are written; an error ends the work.
  std::function<Status(uint32_t written)> before_partition;
  std::function<bool()> stop_requested;  // asked while a partition is written; null: never
  WorkMeter* meter = nullptr;            // counts the bytes of partitions as they are written, unless null
};

// The manifest of a graph's partitions before there are any: attempt, name, order of in-edges, book, splits.
format::Manifest DescribeGraph(const graph::SourceGraph& graph, const graph::PartitionBook& book,
                               const std::string& attempt, const partition::BuildOptions& build);
// Adds what columns there are, which any partition tells: they are the same in all.
void DescribeColumns(const graph::Partition& partition, format::Manifest* manifest);

// Writes the files below `<prefix>/<attempt>/`; the manifest that comes back says what they hold (book, columns,
// splits, files, in-edge order) and is not committed.
Result<format::Manifest> WritePartitions(storage::ObjectStore& store, const std::string& prefix,
                                         const std::string& attempt, const graph::SourceGraph& graph,
                                         const partition::Assignment& assignment,
                                         const PartitionWriterOptions& options);

// Says in a manifest what Preprocess held out of the graph that it describes.
void DescribeHeldOut(const graph::HeldOutEdges& held_out, bool add_reverse_edges, format::Manifest* manifest);

}  // namespace espalier::partitioner
