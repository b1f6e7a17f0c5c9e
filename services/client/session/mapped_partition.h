// A partition whose files are mapped by its server and by this process, which run on the same host. Queries of
// immutable data are answered in this process; tensors, learnable rows and plugin functions are forwarded to the
// server.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "services/client/session/describe.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// Returns whether this process and the server run on the same host under the same user. The test: this process can read
// the file with the nonce that the server wrote, and the file belongs to this process's user.
bool RunsOnServerHost(const graph::v1::MappedFiles& files);

// Maps the partition files that the server offers; description.mapped_files must be set. Checksums are not verified,
// because the server verified them when it loaded the files; invariants of the arrays are checked again.
// FailedPrecondition: the files belong to another partitioning than that of the server.
Result<std::shared_ptr<sampler::PartitionAccess>> MapPartition(const ServerDescription& description);

// Forwards queries of immutable data to `mapped` and all other calls to `server`. Thread-safe.
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
