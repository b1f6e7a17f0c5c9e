// A partition whose files this process maps, as its server does: immutable data is read from the mapping; mutable
// tensors and functions of plugins are requested from the server.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "services/client/describe.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// Returns whether this process can read the nonce that the server wrote, which means the same host and user.
bool SharesFilesWith(const graph::v1::MappedFiles& files);

// Maps the files that the server described. The server has verified their checksums; invariants of the arrays are
// checked again. FailedPrecondition: the files are not of the described partitioning.
Result<std::shared_ptr<sampler::PartitionAccess>> MapPartition(const ServerDescription& description);

// Thread-safe.
class MappedPartition final : public sampler::PartitionAccess {
 public:
  MappedPartition(std::shared_ptr<sampler::PartitionAccess> mapped, std::shared_ptr<sampler::PartitionAccess> server);

  PartitionId partition() const override { return mapped_->partition(); }
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
  void CallFunction(const std::string& function, const Tensor& request, sampler::TensorEffect effect, Deadline deadline,
                    sampler::Done<Tensor> done) override {
    server_->CallFunction(function, request, effect, deadline, std::move(done));
  }
  sampler::PartitionTensors& tensors() override { return server_->tensors(); }
  sampler::PartitionEmbeddings& embeddings() override { return server_->embeddings(); }

 private:
  const std::shared_ptr<sampler::PartitionAccess> mapped_;
  const std::shared_ptr<sampler::PartitionAccess> server_;
};

}  // namespace espalier::client
