#include "services/partitioner/held_out_splits.h"

#include <algorithm>

namespace espalier::partitioner {

bool HasSplit(const graph::SourceGraph& source, const graph::HeldOutEdges& held_out, bool add_reverse_edges) {
  const auto types = graph::FindHeldOutEdgeTypes(held_out, source.schema, add_reverse_edges);
  if (!types.ok()) return true;
  const auto named = source.edge_splits.find(held_out.split);
  return named != source.edge_splits.end() &&
         std::all_of(types->begin(), types->end(), [&](EdgeTypeId type) { return named->second.contains(type.value); });
}

uint64_t CountTrainingPairs(const graph::SourceGraph& source, const std::string& split,
                            const graph::GraphSchema& schema) {
  uint64_t count = 0;
  const auto named = source.edge_splits.find(split);
  if (named == source.edge_splits.end()) return count;
  for (const graph::CanonicalEdgeType& type : schema.edge_types()) {
    const Result<EdgeTypeId> id = source.schema.FindEdgeType(type.Name());
    const auto parts = id.ok() ? named->second.find(id->value) : named->second.end();
    if (parts != named->second.end()) count += parts->second.train.size();
  }
  return count;
}

}  // namespace espalier::partitioner
