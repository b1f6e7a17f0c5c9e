// The node types whose rows each layer writes for the seeds' outputs. A function of the job alone.
#pragma once

#include <span>
#include <vector>

#include "services/graph/schema.h"

namespace espalier::trainer {

struct LayerTypes {
  std::vector<std::vector<bool>> written;  // [layer][NodeTypeId]
  std::vector<bool> read_first;            // [NodeTypeId]: what the first layer reads
};

// relations: those that each layer draws, by layer.
LayerTypes TypesOfLayers(const graph::GraphSchema& schema, const std::vector<std::vector<EdgeTypeId>>& relations,
                         std::span<const NodeTypeId> seed_types);

// Types read by a layer that writes `written`: the written rows themselves and their in-neighbours.
std::vector<bool> TypesReadFor(const graph::GraphSchema& schema, const std::vector<EdgeTypeId>& relations,
                               const std::vector<bool>& written);

}  // namespace espalier::trainer
