// Seed source over a list of nodes of one type. The nodes need not belong to a split.
#pragma once

#include <utility>
#include <vector>

#include "services/client/loaders/last_batch.h"
#include "services/sampler/access/seed_source.h"

namespace espalier::client {

// The seeds are the nodes of the list, whichever split and part a query names; queries for node types other than `type`
// return NotFound. The order of an epoch is the same function of (seed, epoch) as for a split, so a list with the nodes
// of a split in the order of original ids gives the same batches as the split. An epoch has `positions` positions,
// which the caller sets to at least nodes.size(); positions after the last node have no seed. LastBatch::kDrop rounds
// `positions` down to a multiple of batch_size. Immutable; thread-safe.
class NodeListSeeds final : public sampler::SeedSource {
 public:
  NodeListSeeds(NodeTypeId type, std::vector<GlobalNodeId> nodes, uint64_t positions, uint64_t batch_size,
                LastBatch last)
      : type_(type), nodes_(std::move(nodes)), count_(positions) {
    if (last == LastBatch::kDrop && batch_size > 0) count_ -= count_ % batch_size;
  }

  Result<uint64_t> Count(NodeTypeId type, const std::string& split, graph::SplitPartName part) override;
  // Always NotFound: a list of nodes has no seed edges.
  Result<uint64_t> CountOfEdges(EdgeTypeId type, const std::string& split, graph::SplitPartName part) override;
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline) override;
  // Always Unimplemented: a list has no original ids.
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes,
                                                Deadline deadline) override;

 private:
  const NodeTypeId type_;
  const std::vector<GlobalNodeId> nodes_;
  uint64_t count_;  // positions of an epoch; with kDrop and shuffling, each epoch drops different nodes
};

}  // namespace espalier::client
