// How many edges the nodes of a mini-batch have in the whole graph, whatever was drawn: what GCN normalises with.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/ids.h"
#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/batches/mini_batch.h"

namespace espalier::trainer {

// By EdgeTypeId; empty for relations that nobody asked for, and where a mini-batch has no nodes.
struct GraphDegrees {
  std::vector<std::vector<float>> out;  // of the rows of the source type
  std::vector<std::vector<float>> in;   // of the rows of the destination type, at least of those that are written
};

// Thread-safe. Out-degrees are a node column of every partition, in-degrees are asked of the partitions' owners.
class DegreeSource {
 public:
  // Both outlive this. relations: those that each layer draws, by layer.
  DegreeSource(sampler::NeighborSource& neighbors, sampler::RowSource& rows,
               const std::vector<std::vector<EdgeTypeId>>& relations);

  // nodes: by NodeTypeId; the layer writes the first num_written[type] of each. NotFound where partitions have no
  // out-degrees.
  Result<GraphDegrees> Of(const std::vector<std::vector<GlobalNodeId>>& nodes, std::span<const uint32_t> num_written,
                          Deadline deadline) const;

 private:
  sampler::NeighborSource* neighbors_;
  sampler::RowSource* rows_;
  std::set<EdgeTypeId> relations_;
};

}  // namespace espalier::trainer
