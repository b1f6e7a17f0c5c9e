// The mutable tensors of one partition behind a graph server.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/client/remote/change_numbers.h"
#include "services/rpc/channel.h"
#include "services/sampler/access/partition_tensors.h"

namespace espalier::client {

struct RemoteTensorOptions {
  std::function<tensor::v1::RequestIdentity()> identity;  // of a request made now; any thread
  size_t bytes_per_call = 0;                              // about this much of rows a message; more than 0
  size_t calls_in_flight = 0;                             // per question; more than 0
};

// Thread-safe. Questions under way keep what they need alive when it is destroyed. Every change carries a number, so
// that the server applies it once however often its message arrives, and never after this object has said how it ended
// and a later change of the client has been applied; calls are repeated while the server cannot be reached and the
// deadline leaves time.
class RemoteTensors final : public sampler::PartitionTensors {
 public:
  // `changes`: the numbers of all of this client's changes at that server.
  RemoteTensors(std::shared_ptr<rpc::Peer> peer, std::shared_ptr<ChangeNumbers> changes, RemoteTensorOptions options);

  void Create(const sampler::TensorSpec& spec, uint64_t creation, Deadline deadline,
              sampler::Done<sampler::TensorDescription> done) override;
  void Complete(const sampler::TensorId& tensor, Deadline deadline, sampler::DoneStatus done) override;
  void Describe(const sampler::TensorId& tensor, Deadline deadline,
                sampler::Done<sampler::TensorDescription> done) override;
  void Drop(const sampler::TensorId& tensor, Deadline deadline, sampler::DoneStatus done) override;
  void Abandon(const sampler::TensorId& tensor, uint64_t maker, Deadline deadline, sampler::DoneStatus done) override;
  void Read(const sampler::TensorId& tensor, std::span<const LocalRowId> rows, sampler::RowSink sink, Deadline deadline,
            sampler::DoneStatus done) override;
  // In pieces, each applied as a whole: several in flight for kAssign, one after another otherwise, so that repeated
  // rows take their values in order.
  void Write(const sampler::TensorId& tensor, sampler::RowWrite write, std::vector<LocalRowId> rows, Tensor values,
             Deadline deadline, sampler::DoneStatus done) override;
  void Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const sampler::TensorId& from,
               Deadline deadline, sampler::DoneStatus done) override;
  void Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline deadline,
              sampler::Done<Tensor> done) override;

 private:
  // `request` gets its identity and the change's number.
  template <class Request>
  void AskForChange(const char* method, Request request, Deadline deadline,
                    std::function<void(Result<grpc::ByteBuffer>)> done);

  const std::shared_ptr<rpc::Peer> peer_;
  const RemoteTensorOptions options_;
  const std::shared_ptr<ChangeNumbers> changes_;  // shared with those under way
};

}  // namespace espalier::client
