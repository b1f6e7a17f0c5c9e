// Where partitions keep out-degrees.
#pragma once

#include <string>
#include <string_view>

#include "services/graph/schema.h"

namespace espalier::graph {

inline constexpr std::string_view kOutDegreePrefix = "out_degree.";

// The node column of the source type that holds the out-degree under an edge type: "out_degree.writes.paper". Where
// that would be ambiguous or too long for a name, "out_degree.<hash of the canonical name>".
std::string OutDegreeColumnName(const CanonicalEdgeType& edge_type);

}  // namespace espalier::graph
