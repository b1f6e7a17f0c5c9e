// The nodes that a user selects by their original ids: spec.output.nodesUri is a folder that contains, for each node
// type with selected nodes, a file `<node type>.npy` with integers [n].
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/graph/partition_book.h"
#include "services/storage/open_store.h"

namespace espalier::trainer {

// Distinct ids in the user's order. A type without an entry has no selected nodes.
using ChosenNodes = std::map<NodeTypeId, std::vector<OriginalNodeId>>;

// Reads the selection. NotFound if the folder has no file for any node type of the graph. InvalidArgument names a file
// whose array is not a vector of integers, or an id that is out of range or repeated.
Result<ChosenNodes> ReadChosenNodes(const storage::StoreLocation& folder, const graph::PartitionBook& book);

}  // namespace espalier::trainer
