// Client of one partition on its graph servers.
//
// Queries with large responses are split into pieces of about reply_bytes_per_call, a few of them in flight at a time.
// The in-degrees of sampled nodes are not known in advance: if the response to a piece is too large, the piece is
// halved, down to single nodes. Rows of nodes are copied once, from the message to their place in the caller's buffer.
// Calls are retried until the deadline while the server cannot be reached, for example during a restart;
// remote_functions.h describes which calls of plugin functions are retried. With several replicas, immutable data is
// read from any replica and mutable data from the one replica that holds it.
#pragma once

#include <memory>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/client/remote/incarnation.h"
#include "services/client/remote/remote_embeddings.h"
#include "services/client/remote/remote_functions.h"
#include "services/client/remote/remote_tensors.h"
#include "services/graph/partition_book.h"
#include "services/rpc/callee.h"
#include "services/rpc/channel.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

struct RemotePartitionOptions {
  std::string partition_key;
  PartitionId partition;
  std::string job;  // job to which tensors and the incarnation belong; empty: the job without a name
  std::shared_ptr<const Incarnation> incarnation = std::make_shared<Incarnation>(0);
  size_t reply_bytes_per_call = rpc::kPreferredReplyBytes;  // positive
  size_t calls_in_flight = 4;                               // per query; positive
  std::shared_ptr<rpc::Replicas> replicas = nullptr;        // all servers of the partition; null if only one
};

// Thread-safe. Pending queries do not depend on the lifetime of this object.
class RemotePartition final : public sampler::PartitionAccess {
 public:
  // `peer` holds the partition's mutable data.
  RemotePartition(std::shared_ptr<rpc::Peer> peer, graph::PartitionBook book, const RemotePartitionOptions& options);

  PartitionId partition() const override { return options_.partition; }
  const std::string& address() const { return peer_->address; }

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
                    sampler::Done<Tensor> done) override;

  sampler::PartitionTensors& tensors() override { return tensors_; }
  sampler::PartitionEmbeddings& embeddings() override { return embeddings_; }

 private:
  tensor::v1::RequestIdentity Identity() const;

  const std::shared_ptr<rpc::Peer> peer_;
  const rpc::Callee replicas_;  // servers of immutable data
  const std::shared_ptr<const graph::PartitionBook> book_;
  const RemotePartitionOptions options_;
  const std::shared_ptr<ChangeNumbers> changes_ = std::make_shared<ChangeNumbers>();
  RemoteTensors tensors_;
  RemoteEmbeddings embeddings_;
  RemoteFunctions functions_;
};

}  // namespace espalier::client
