// Client of the plugin functions of one partition's graph server. With several replicas, the client calls the first.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/client/remote/change_numbers.h"
#include "services/rpc/channel.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// Thread-safe. Pending queries do not depend on the lifetime of this object.
class RemoteFunctions {
 public:
  // `changes` is shared with the RemoteTensors of the same server, so all changes have one sequence of numbers.
  // `identity` returns the identity for a new request; it may be called on any thread.
  RemoteFunctions(std::shared_ptr<rpc::Peer> peer, std::shared_ptr<ChangeNumbers> changes,
                  std::function<tensor::v1::RequestIdentity()> identity);

  // Implements PartitionAccess::CallFunction. Calls that change tensors are numbered and retried until the deadline
  // while the server cannot be reached. Calls of idempotent functions are retried too; all other calls are not. Which
  // functions are idempotent is read from the server's list, which is queried before the first call that changes no
  // tensors, and then kept.
  void Call(const std::string& function, const Tensor& request, sampler::TensorEffect effect, Deadline deadline,
            sampler::Done<Tensor> done);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace espalier::client
