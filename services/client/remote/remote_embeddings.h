// Client of the learnable rows of one partition on its graph server.
#pragma once

#include <memory>

#include "services/client/remote/remote_tensors.h"
#include "services/rpc/channel.h"
#include "services/sampler/access/partition_embeddings.h"

namespace espalier::client {

// Thread-safe. Pending calls do not depend on the lifetime of this object. Calls are retried until the deadline while
// the server cannot be reached or does not have the version yet; a repeated piece of gradients is applied once.
class RemoteEmbeddings final : public sampler::PartitionEmbeddings {
 public:
  RemoteEmbeddings(std::shared_ptr<rpc::Peer> peer, RemoteTensorOptions options);

  void Create(const sampler::EmbeddingSpec& spec, Deadline deadline, sampler::DoneStatus done) override;
  void Read(const sampler::TensorId& embedding, uint64_t version, std::span<const LocalRowId> rows,
            sampler::RowSink sink, Deadline deadline, sampler::DoneStatus done) override;
  // Sends `piece` in several pieces if it is larger than bytes_per_call. piece.piece must be 0 and piece.num_pieces 1.
  void Push(const sampler::TensorId& embedding, sampler::GradientPiece piece, Deadline deadline,
            sampler::DoneStatus done) override;
  void Drop(const sampler::TensorId& embedding, Deadline deadline, sampler::DoneStatus done) override;

 private:
  const std::shared_ptr<rpc::Peer> peer_;
  const RemoteTensorOptions options_;
};

}  // namespace espalier::client
