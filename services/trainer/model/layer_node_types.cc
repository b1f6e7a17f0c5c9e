#include "services/trainer/model/layer_node_types.h"

namespace espalier::trainer {

std::vector<bool> FindTypesRead(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations,
                                const std::vector<bool>& written) {
  std::vector<bool> read = written;
  for (const EdgeTypeId relation : relations) {
    if (written[schema.DestinationOf(relation).value]) read[schema.SourceOf(relation).value] = true;
  }
  return read;
}

LayerNodeTypes FindLayerNodeTypes(const graph::GraphSchema& schema,
                                  const std::vector<std::vector<EdgeTypeId>>& relations,
                                  std::span<const NodeTypeId> seed_types) {
  LayerNodeTypes types;
  types.written.resize(relations.size());
  std::vector<bool> next(schema.num_node_types(), false);
  for (const NodeTypeId type : seed_types) next[type.value] = true;
  for (size_t layer = relations.size(); layer-- > 0;) {
    types.written[layer] = next;
    next = FindTypesRead(schema, relations[layer], next);
  }
  types.read_by_first_layer = std::move(next);
  return types;
}

}  // namespace espalier::trainer
