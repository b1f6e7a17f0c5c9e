// Properties of the edge splits of a source.
#pragma once

#include <cstdint>
#include <string>

#include "services/graph/preprocess.h"
#include "services/graph/source_graph.h"

namespace espalier::partitioner {

// Returns whether all edge types whose edges are to be held out have the split held_out.split. Also returns true if one
// of the edge types does not exist; Preprocess rejects it later.
bool HasSplit(const graph::SourceGraph& source, const graph::HeldOutEdges& held_out, bool add_reverse_edges);

// Returns the number of training pairs (source, destination) of an edge split, summed over the edge types of `schema`
// that `source` has.
uint64_t CountTrainingPairs(const graph::SourceGraph& source, const std::string& split,
                            const graph::GraphSchema& schema);

}  // namespace espalier::partitioner
