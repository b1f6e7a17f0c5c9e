// The node types whose rows each layer must write, so that the last layer can compute the outputs of the seeds. They
// depend only on the job, not on mini-batches.
#pragma once

#include <span>
#include <vector>

#include "services/graph/schema.h"

namespace espalier::trainer {

struct LayerNodeTypes {
  std::vector<std::vector<bool>> written;  // [layer][NodeTypeId]
  std::vector<bool> read_by_first_layer;   // [NodeTypeId]: whether the first layer reads the type
};

// Returns the types for all layers. relations: the relations that each layer samples, by layer.
LayerNodeTypes FindLayerNodeTypes(const graph::GraphSchema& schema,
                                  const std::vector<std::vector<EdgeTypeId>>& relations,
                                  std::span<const NodeTypeId> seed_types);

// Returns whether a layer reads each type, by NodeTypeId: it reads the types that it writes and the types of their
// in-neighbors. relations: those that the layer samples. written: by NodeTypeId.
std::vector<bool> FindTypesRead(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations,
                                const std::vector<bool>& written);

}  // namespace espalier::trainer
