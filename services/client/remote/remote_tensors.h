// Client of the mutable tensors of one partition on its graph server.
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
  // Returns the identity for a new request. Called on any thread.
  std::function<tensor::v1::RequestIdentity()> identity;
  size_t bytes_per_call = 0;   // approximate bytes of rows per message; positive
  size_t calls_in_flight = 0;  // per query; positive
};

// Thread-safe. Pending queries do not depend on the lifetime of this object. Calls are retried until the deadline while
// the server cannot be reached. Every change has a number, so the server applies it once even if its message arrives
// repeatedly. A message that arrives after its call has ended has no effect once the server has applied a change that
// this client began after the end of that call.
class RemoteTensors final : public sampler::PartitionTensors {
 public:
  // `changes` is shared with the RemoteFunctions of the same server, so all changes have one sequence of numbers.
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
  // Writes the rows in pieces, each of which the server applies atomically. For kAssign several pieces are in flight;
  // otherwise they are sent one after another, so that the values of repeated rows are applied in order.
  void Write(const sampler::TensorId& tensor, sampler::RowWrite write, std::vector<LocalRowId> rows, Tensor values,
             Deadline deadline, sampler::DoneStatus done) override;
  void Combine(const sampler::TensorId& tensor, sampler::RowWrite write, const sampler::TensorId& from,
               Deadline deadline, sampler::DoneStatus done) override;
  void Reduce(const sampler::TensorId& tensor, sampler::Reduction reduction, Deadline deadline,
              sampler::Done<Tensor> done) override;

 private:
  // Sets the identity and the change of `request`, then sends it with retries.
  template <class Request>
  void SendChange(const char* method, Request request, Deadline deadline,
                  std::function<void(Result<grpc::ByteBuffer>)> done);

  const std::shared_ptr<rpc::Peer> peer_;
  const RemoteTensorOptions options_;
  const std::shared_ptr<ChangeNumbers> changes_;  // shared with pending changes
};

}  // namespace espalier::client
