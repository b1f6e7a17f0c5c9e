// Calls the METIS library.
#pragma once

#include <cstdint>
#include <vector>

#include "services/partition/balance.h"
#include "services/partition/partitioner.h"
#include "services/partition/undirected_graph.h"

namespace espalier::partition {

// Returns the partition of each vertex by METIS_PartGraphKway. The sizes must be within the limits of CheckFitsMetis
// and CheckTotalsFitMetis (metis_partitioner.h). `weights` has a row for each vertex; the names of its constraints are
// not used. Blocks while another thread calls METIS. ResourceExhausted if METIS runs out of memory.
Result<std::vector<uint32_t>> CallMetis(UndirectedGraph graph, VertexWeights weights, const PartitionOptions& options);

}  // namespace espalier::partition
