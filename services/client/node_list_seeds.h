// Seed nodes from a list, which need not be a split of the graph.
#pragma once

#include <utility>
#include <vector>

#include "services/client/last_batch.h"
#include "services/sampler/access/seed_source.h"

namespace espalier::client {

// Every split and part of `type` is the list. The order of an epoch is the same function of (seed, epoch) as that of
// a split, so the nodes of a split in original order give the batches of that split. Immutable; thread-safe.
// An epoch has `positions` of them, at least as many as there are nodes; those behind the last node are empty.
class NodeListSeeds final : public sampler::SeedSource {
 public:
  NodeListSeeds(NodeTypeId type, std::vector<GlobalNodeId> nodes, uint64_t positions, uint64_t batch_size,
                LastBatch last)
      : type_(type), nodes_(std::move(nodes)), count_(positions) {
    if (last == LastBatch::kDrop && batch_size > 0) count_ -= count_ % batch_size;
  }

  Result<uint64_t> CountOf(NodeTypeId type, const std::string& split, graph::SplitPartName part) override;
  // Returns NotFound: a list of nodes has no edges.
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) override;
  // Returns Unimplemented: a list has no original ids.
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override;

 private:
  const NodeTypeId type_;
  const std::vector<GlobalNodeId> nodes_;
  uint64_t count_;  // positions of an epoch; what is dropped changes from epoch to epoch
};

}  // namespace espalier::client
