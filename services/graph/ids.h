// The ID spaces, each with a C++ type of its own (docs/partition-format.md, "Ids").
#pragma once

#include <cstdint>

#include "services/base/strong_id.h"

namespace espalier {

// Row number within a node type in the user's files: node 17 of type "paper".
using OriginalNodeId = StrongId<struct OriginalNodeTag, uint64_t>;
// Number within a node type after partitioning: each partition owns one contiguous range per node type.
using GlobalNodeId = StrongId<struct GlobalNodeTag, uint64_t>;
// Number within one partition and node type: the global ID minus the first global ID of the partition's range.
using LocalNodeId = StrongId<struct LocalNodeTag, uint32_t>;

// Number within an edge type after partitioning: contiguous per partition, in CSC order.
using GlobalEdgeId = StrongId<struct GlobalEdgeTag, uint64_t>;

// One ID space over all node types, and one over all edge types, each ordered by (partition, type, local ID). DGL calls
// these homogeneous IDs.
using HomogeneousNodeId = StrongId<struct HomogeneousNodeTag, uint64_t>;
using HomogeneousEdgeId = StrongId<struct HomogeneousEdgeTag, uint64_t>;

using NodeTypeId = StrongId<struct NodeTypeTag, uint16_t>;  // index into GraphSchema::node_types
using EdgeTypeId = StrongId<struct EdgeTypeTag, uint16_t>;  // index into GraphSchema::edge_types
using PartitionId = StrongId<struct PartitionTag, uint32_t>;
using Rank = StrongId<struct RankTag, uint32_t>;  // index of a trainer

}  // namespace espalier
