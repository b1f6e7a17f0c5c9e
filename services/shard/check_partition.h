// Whether a partition's arrays fit the book and each other, so that nothing reads past an end later.
#pragma once

#include "services/graph/partition.h"

namespace espalier::shard {

// DataLoss names the array and what was expected of it.
Status CheckPartition(const graph::PartitionBook& book, const graph::Partition& partition);

}  // namespace espalier::shard
