// A small graph for tests that uses every feature of partition files, and a partitioning of it.
#pragma once

#include <string>

#include "services/format/partition/manifest.h"
#include "services/graph/source_graph.h"
#include "services/partition/build_partition.h"
#include "services/storage/object_store.h"

namespace espalier::format {

//   author 0 -> paper 0, 1    author 1 -> paper 1, 4    author 2 -> nothing        (author:writes:paper)
//   paper 0 -> 1, 4    paper 2 -> 1 (three times)    paper 4 -> 0    paper 1 -> 1   (paper:cites:paper, with "time")
// Papers have "feat" F32 [5, 2], "half" F16, "label" I64, "is_new" BOOL; split "public" of papers.
graph::SourceGraph TinyGraph();

// Returns two partitions: papers 1, 3 and author 1 are in partition 1, all other nodes in partition 0. In-edges are
// ordered by "time".
partition::PartitionSet TinyPartitions(const graph::SourceGraph& graph,
                                       const std::vector<std::string>& source_columns = {});

// Returns a manifest of these partitions with their quality, but without entries of files.
Manifest TinyManifest(const graph::SourceGraph& graph, const partition::PartitionSet& set);

// Writes the partitions and the manifest. Returns the manifest with the entries of the files.
Result<Manifest> WritePartitioning(storage::ObjectStore& store, const std::string& prefix,
                                   const partition::PartitionSet& set, Manifest manifest);
// Writes the partitioning TinyPartitions(TinyGraph()). Returns its manifest.
Manifest WriteTinyPartitioning(storage::ObjectStore& store, const std::string& prefix);

// Writes the content of testdata/tiny: this partitioning, and results below "results/".
void WriteGoldenFiles(storage::ObjectStore& store);

}  // namespace espalier::format
