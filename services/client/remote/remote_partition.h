// One partition behind a graph server.
//
// Requests whose answers would be large are cut into pieces of about reply_bytes_per_call, a few of them in flight
// at once (a piece of all in-edges that turns out to be more than the server answers is halved, down to single nodes);
// rows of nodes are copied once, from the message to their place in the caller's buffer. Calls are repeated
// while the server cannot be reached and the deadline leaves time, so a server that restarts is waited for. Where
// several serve the partition, immutable data is asked of any of them, and mutable data of the one that holds it.
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
  std::string job;  // whose tensors and incarnation; empty: the job without a name
  std::shared_ptr<const Incarnation> incarnation = std::make_shared<Incarnation>(0);
  size_t reply_bytes_per_call = rpc::kPreferredReplyBytes;  // more than 0
  size_t calls_in_flight = 4;                               // per question; more than 0
  std::shared_ptr<rpc::Replicas> replicas = nullptr;        // all servers of the partition; null: there is one
};

// Thread-safe. Questions under way keep what they need alive when it is destroyed.
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
  const rpc::Callee readers_;  // who answers about immutable data
  const std::shared_ptr<const graph::PartitionBook> book_;
  const RemotePartitionOptions options_;
  const std::shared_ptr<ChangeNumbers> changes_ = std::make_shared<ChangeNumbers>();
  RemoteTensors tensors_;
  RemoteEmbeddings embeddings_;
  RemoteFunctions functions_;
};

}  // namespace espalier::client
