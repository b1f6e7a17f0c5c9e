// A graph that fits a page, with everything that partition files can hold, and its partitioning.
#pragma once

#include <string>

#include "services/format/manifest.h"
#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/storage/object_store.h"

namespace espalier::format {

//   author 0 -> paper 0, 1    author 1 -> paper 1, 4    author 2 -> nothing        (author:writes:paper)
//   paper 0 -> 1, 4    paper 2 -> 1 (three times)    paper 4 -> 0    paper 1 -> 1   (paper:cites:paper, with "time")
// Papers have "feat" F32 [5, 2], "half" F16, "label" I64, "is_new" BOOL; split "public" of papers.
graph::SourceGraph TinyGraph();

// Papers 1, 3 and author 1 in partition 1, all others in partition 0; in-edges ordered by "time".
partition::PartitionSet TinyPartitions(const graph::SourceGraph& graph,
                                       const std::vector<std::string>& source_columns = {});

// A manifest of those partitions with the quality that they have; without files.
Manifest TinyManifest(const graph::SourceGraph& graph, const partition::PartitionSet& set);

// Writes the partitions and the manifest; the manifest comes back.
Result<Manifest> WritePartitioning(storage::ObjectStore& store, const std::string& prefix,
                                   const partition::PartitionSet& set, Manifest manifest);
// The same of TinyGraph.
Manifest WriteTinyPartitioning(storage::ObjectStore& store, const std::string& prefix);

// What lies in testdata/tiny: that partitioning, and results under "results/".
void WriteGoldenFiles(storage::ObjectStore& store);

}  // namespace espalier::format
