// The node types whose rows each layer must write for the outputs of the seeds. Depends only on the job.
#pragma once

#include <span>
#include <vector>

#include "services/graph/schema.h"

namespace espalier::trainer {

struct LayerTypes {
  std::vector<std::vector<bool>> written;  // [layer][NodeTypeId]
  std::vector<bool> read_first;            // [NodeTypeId]: whether the first layer reads the type
};

// Returns the types of all layers. relations: the relations that each layer samples, by layer.
LayerTypes TypesOfLayers(const graph::GraphSchema& schema, const std::vector<std::vector<EdgeTypeId>>& relations,
                         std::span<const NodeTypeId> seed_types);

// Returns the types read by a layer that writes the types `written`, both by NodeTypeId: the written types themselves
// and the types of their in-neighbors.
std::vector<bool> TypesReadFor(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations,
                               const std::vector<bool>& written);

}  // namespace espalier::trainer
