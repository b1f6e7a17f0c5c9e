#include "services/graph/out_degree_column.h"

#include "services/base/hash.h"

namespace espalier::graph {

std::string OutDegreeColumnName(const CanonicalEdgeType& edge_type) {
  constexpr size_t kMaxCharacters = 128;  // the limit of CheckName
  const std::string prefix(kOutDegreePrefix);
  const std::string name = prefix + edge_type.relation + "." + edge_type.destination;
  const bool ambiguous =
      edge_type.relation.find('.') != std::string::npos || edge_type.destination.find('.') != std::string::npos;
  return ambiguous || name.size() > kMaxCharacters ? prefix + ToHex(Hash64(edge_type.Name())) : name;
}

}  // namespace espalier::graph
