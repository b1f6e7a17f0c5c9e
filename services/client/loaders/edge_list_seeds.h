// Seed source over a list of edges of one type. The edges need not belong to a split.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "services/client/splits/edge_list.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::client {

// The seeds are the edges of the list, whichever split and part a query names; queries for other edge types return
// NotFound. The order of an epoch is the same function of (seed, epoch) as for a split, so a list with the edges of a
// split in their original order gives the same batches as the split. Rows of an edge column come from EdgeList::rows if
// it has the column, otherwise from the column of the graph or the attached tensor of that name, by edge id.
// Thread-safe.
class EdgeListSeeds final : public sampler::SeedSource {
 public:
  // `graph` must outlive the object. The endpoints of the edges must be nodes of the graph.
  EdgeListSeeds(sampler::PartitionedGraph& graph, EdgeList edges) : graph_(graph), edges_(std::move(edges)) {}

  // Always returns NotFound: a list of edges has no seed nodes.
  Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) override;
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override;

 private:
  // Returns rows of the edges at these indices of the list. `ids` are their edge ids, or empty if the list has none.
  Result<Tensor> GatherRows(const std::string& column, std::span<const uint64_t> indices,
                            std::span<const GlobalEdgeId> ids, Deadline deadline);

  sampler::PartitionedGraph& graph_;
  const EdgeList edges_;
};

}  // namespace espalier::client
