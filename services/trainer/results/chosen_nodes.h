// Nodes that a user chose by their original ids: spec.output.nodesUri, a folder with `<node type>.npy` for each node
// type that has chosen nodes, integers [n].
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/graph/partition_book.h"
#include "services/storage/open_store.h"

namespace espalier::trainer {

// Distinct ids in the user's order; types without an entry have none.
using ChosenNodes = std::map<NodeTypeId, std::vector<OriginalNodeId>>;

// NotFound where the folder has no file for any type of the graph; InvalidArgument names a file whose array is not
// one row of integers, or an id that the graph does not have or that stands there twice.
Result<ChosenNodes> ReadChosenNodes(const storage::StoreLocation& folder, const graph::PartitionBook& book);

}  // namespace espalier::trainer
