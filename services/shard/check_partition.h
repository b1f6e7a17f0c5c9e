// Validation of a partition's arrays against the book and each other, so that later code never reads out of bounds.
#pragma once

#include "services/graph/partition.h"

namespace espalier::shard {

// Returns OK, or DataLoss with the array, what was found and what was expected. InvalidArgument: the book has no
// partition with this id.
Status CheckPartition(const graph::PartitionBook& book, const graph::Partition& partition);

}  // namespace espalier::shard
