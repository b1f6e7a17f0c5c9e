// Where partitions keep out-degrees.
#pragma once

#include <string>

#include "services/graph/schema.h"

namespace espalier::graph {

// The node column of the source type that holds the out-degree under an edge type: "out_degree.writes.paper". Where
// that would be ambiguous or too long for a name, "out_degree.<hash of the canonical name>".
std::string OutDegreeColumnName(const CanonicalEdgeType& edge_type);

}  // namespace espalier::graph
