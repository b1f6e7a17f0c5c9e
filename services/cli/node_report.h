// Everything the files say about one node.
#pragma once

#include <string>

#include "services/cli/partition_place.h"
#include "services/format/partition_files.h"

namespace espalier::cli {

struct NodeQuestion {
  std::string node_type;  // empty: the only one
  uint64_t original_id = 0;
  bool json = false;
  format::LoadOptions load;  // how files are reached
};

// Where the node of an original id is, how many in-edges of each type it has, and its columns. OutOfRange for an id
// that the graph does not have. Loads the two partitions that know.
Result<std::string> ReportNode(const PartitionPlace& place, const NodeQuestion& question);

}  // namespace espalier::cli
