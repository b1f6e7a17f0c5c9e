// The names of the node columns in which partitions store out-degrees.
#pragma once

#include <string>
#include <string_view>

#include "services/graph/schema.h"

namespace espalier::graph {

inline constexpr std::string_view kOutDegreePrefix = "out_degree.";

// Returns the name of the source type's node column with the out-degrees of an edge type: "out_degree.writes.paper". If
// this name would be ambiguous or too long, returns "out_degree.<hash of the canonical name>".
std::string OutDegreeColumnName(const CanonicalEdgeType& edge_type);

}  // namespace espalier::graph
