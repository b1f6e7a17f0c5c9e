// Reports the location, in-degrees and columns of one node, for `espalier inspect --node`.
#pragma once

#include <string>

#include "services/cli/partition_place.h"
#include "services/format/partition/partition_files.h"

namespace espalier::cli {

struct NodeLookup {
  std::string node_type;  // empty: the only node type of the graph
  uint64_t original_id = 0;
  bool json = false;
  format::LoadOptions load;  // for reading the partition files
};

// Returns the partition and ids of the node, its number of in-edges of each edge type, and its columns. OutOfRange if
// the graph has no such original id. Loads two partitions: the one that stores the global id for the original id
// (graph::DirectorySlice), and the one that owns the node.
Result<std::string> ReportNode(const PartitionPlace& place, const NodeLookup& lookup);

}  // namespace espalier::cli
