// Seed edges of one type from a list, which need not be a split of the graph.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "services/client/edge_list.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/routing/partitioned_graph.h"

namespace espalier::client {

// Every split and part of the list's type is the list. The order of an epoch is the same function of (seed, epoch) as
// that of a split, so the edges of a split in the user's order give the batches of that split. Rows of edge columns are
// those kept with the list; else they are the graph's, or an attached tensor's, by the edges' ids. Thread-safe.
class EdgeListSeeds final : public sampler::SeedSource {
 public:
  // `graph` must outlive this object; the end nodes must be nodes of it.
  EdgeListSeeds(sampler::PartitionedGraph& graph, EdgeList edges) : graph_(graph), edges_(std::move(edges)) {}

  // Returns NotFound: a list of edges has no nodes.
  Result<uint64_t> CountOf(NodeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) override;
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override;

 private:
  // Of the edges at these places of the list; `ids` are theirs.
  Result<Tensor> RowsOfBatch(const std::string& column, std::span<const uint64_t> places,
                             std::span<const GlobalEdgeId> ids, Deadline deadline);

  sampler::PartitionedGraph& graph_;
  const EdgeList edges_;
};

}  // namespace espalier::client
