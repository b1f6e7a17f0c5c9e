// Properties of the edge splits of a source.
#pragma once

#include <cstdint>
#include <string>

#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::partitioner {

// Returns whether all edge types to hold out have the split. Also returns true for edge types that do not exist, which
// Preprocess rejects later.
bool HasSplit(const graph::SourceGraph& source, const graph::HeldOutEdges& held_out, bool add_reverse_edges);

// Returns the number of training pairs of an edge split, over the edge types of `schema`.
uint64_t CountTrainingPairs(const graph::SourceGraph& source, const std::string& split,
                            const graph::GraphSchema& schema);

}  // namespace espalier::partitioner
