#include "services/trainer/model/relation_rows.h"

#include <algorithm>

namespace espalier::trainer {

OccupiedRows FindOccupiedRows(const sampler::Block& block, int64_t first_row) {
  OccupiedRows result;
  result.indptr.push_back(0);
  for (size_t i = 0; i + 1 < block.indptr.size(); ++i) {
    if (block.indptr[i] == block.indptr[i + 1]) continue;
    result.rows.push_back(static_cast<uint32_t>(first_row) + static_cast<uint32_t>(i));
    result.indptr.push_back(block.indptr[i + 1]);
  }
  return result;
}

std::string RelationModuleName(const graph::GraphSchema& schema, EdgeTypeId relation) {
  std::string name = "relation_" + schema.EdgeType(relation).Name();
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + std::to_string(relation.value);
}

}  // namespace espalier::trainer
