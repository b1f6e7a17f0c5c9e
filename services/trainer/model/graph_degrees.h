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

// Degrees by EdgeTypeId. An element is empty if no layer samples the relation, or if there are no rows.
struct GraphDegrees {
  std::vector<std::vector<float>> out;  // of the rows of the source type
  std::vector<std::vector<float>> in;   // of the rows of the destination type that the first layer writes
};

// Fetches degrees. Thread-safe. Out-degrees are a node column of every partition; in-degrees are requested from the
// owners of the nodes.
class DegreeSource {
 public:
  // `neighbors` and `rows` must outlive this object. relations: the relations that each layer samples, by layer.
  DegreeSource(sampler::NeighborSource& neighbors, sampler::RowSource& rows,
               const std::vector<std::vector<EdgeTypeId>>& relations);

  // Returns the degrees of `nodes` (by NodeTypeId) for all sampled relations. In-degrees cover only the first
  // num_written[type] nodes of each type: those whose rows the first layer writes. Later layers write fewer rows.
  // NotFound: the partitions have no out-degrees.
  Result<GraphDegrees> Fetch(const std::vector<std::vector<GlobalNodeId>>& nodes, std::span<const uint32_t> num_written,
                             Deadline deadline) const;

 private:
  sampler::NeighborSource* neighbors_;
  sampler::RowSource* rows_;
  std::set<EdgeTypeId> relations_;
};

}  // namespace espalier::trainer
