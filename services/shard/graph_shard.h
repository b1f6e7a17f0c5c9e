// One partition, in memory or mapped, that answers requests (PartitionAccess). A graph server wraps it in RPCs; a
// process that has mapped the same files calls it directly.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "services/graph/partition.h"
#include "services/sampler/access/partition_access.h"
#include "services/sampler/access/row_initializers.h"

namespace espalier::shard {

// Limits of one partition. 0 never means "unlimited": it allows nothing.
struct ShardLimits {
  uint64_t max_draws_per_request = uint64_t{1} << 28;   // in-edges drawn for one hop
  uint64_t max_rows_per_request = uint64_t{1} << 28;    // rows or ids
  uint64_t mutable_tensor_bytes = uint64_t{1} << 40;    // of all mutable tensors together
  uint64_t waiting_gradient_bytes = uint64_t{1} << 34;  // of all gradients of one step that are not applied yet
  // In-edges that LABOR and exclusion visit for one hop, or that SeedsOfStep visits to find seed edges by their
  // endpoints. Unlimited by default, for callers in the same process; a server limits the work that its clients can
  // cause.
  uint64_t max_lookups_per_request = std::numeric_limits<uint64_t>::max();
  uint64_t max_edge_row_bytes = uint64_t{1} << 32;  // of rows of an edge column in one response
};

// Thread-safe. The calls of this class complete on the calling thread before they return; they ignore deadlines. Calls
// of the objects that tensors() and embeddings() return may wait (mutable_tensors.h, embeddings.h).
class GraphShard final : public sampler::PartitionAccess {
 public:
  // Checks the partition (CheckPartition), because files may be damaged: DataLoss names the array. `initializers` are
  // those of plugins, for mutable tensors; null: none.
  static Result<std::shared_ptr<GraphShard>> Make(
      graph::PartitionBook book, graph::Partition partition, ShardLimits limits = {},
      std::shared_ptr<const sampler::RowInitializers> initializers = nullptr);
  ~GraphShard() override;

  const graph::PartitionBook& book() const;
  const graph::Partition& data() const;

  PartitionId partition() const override;
  bool is_in_process() const override { return true; }
  void SampleInEdges(sampler::PartitionHopQuery query, Deadline deadline,
                     sampler::Done<sampler::PartitionHopSample> done) override;
  void GatherRows(NodeTypeId type, const std::string& column, std::span<const LocalNodeId> nodes, sampler::RowSink sink,
                  Deadline deadline, sampler::DoneStatus done) override;
  void SeedsOfStep(const sampler::SeedQuery& query, Deadline deadline,
                   sampler::Done<sampler::PartitionSeeds> done) override;
  void ToGlobalIds(NodeTypeId type, std::span<const OriginalNodeId> nodes, Deadline deadline,
                   sampler::Done<Tensor> done) override;
  void InDegrees(EdgeTypeId type, std::span<const LocalNodeId> nodes, Deadline deadline,
                 sampler::Done<Tensor> done) override;
  void FindEdges(EdgeTypeId type, std::span<const GlobalEdgeId> edges, Deadline deadline,
                 sampler::Done<Tensor> done) override;
  void GatherEdgeRows(EdgeTypeId type, const std::string& column, std::span<const GlobalEdgeId> edges,
                      Deadline deadline, sampler::Done<Tensor> done) override;
  sampler::PartitionTensors& tensors() override;
  sampler::PartitionEmbeddings& embeddings() override;

 private:
  struct State;
  explicit GraphShard(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier::shard
