// Degrees of a mini-batch's nodes in the whole graph, independent of the sampled edges. GCN normalizes with them.
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

// By EdgeTypeId; empty for relations that no layer samples and where the mini-batch has no nodes.
struct GraphDegrees {
  std::vector<std::vector<float>> out;  // of the rows of the source type
  std::vector<std::vector<float>> in;   // of the rows of the destination type, at least of the written ones
};

// Thread-safe. Out-degrees are a node column of every partition; in-degrees are requested from the owners of the nodes.
class DegreeSource {
 public:
  // `neighbors` and `rows` must outlive this. relations: the relations that each layer samples, by layer.
  DegreeSource(sampler::NeighborSource& neighbors, sampler::RowSource& rows,
               const std::vector<std::vector<EdgeTypeId>>& relations);

  // Returns the degrees of `nodes`, by NodeTypeId, under all relations. In-degrees cover the rows that the layer
  // writes, the first num_written[type] of each type. NotFound: the partitions have no out-degrees.
  Result<GraphDegrees> Of(const std::vector<std::vector<GlobalNodeId>>& nodes, std::span<const uint32_t> num_written,
                          Deadline deadline) const;

 private:
  sampler::NeighborSource* neighbors_;
  sampler::RowSource* rows_;
  std::set<EdgeTypeId> relations_;
};

}  // namespace espalier::trainer
