// Plugin functions of the graph server of one partition; with replicas, of the first one.
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
  // `changes`: shared by all changes of this client at that server. `identity` returns the identity of a request that
  // is made now; it may be called on any thread.
  RemoteFunctions(std::shared_ptr<rpc::Peer> peer, std::shared_ptr<ChangeNumbers> changes,
                  std::function<tensor::v1::RequestIdentity()> identity);

  // Implements PartitionAccess::CallFunction. Until the deadline, calls that change tensors are numbered and retried
  // while the server cannot be reached, and so are calls of idempotent functions, whose list is queried once. Calls of
  // other functions are not retried.
  void Call(const std::string& function, const Tensor& request, sampler::TensorEffect effect, Deadline deadline,
            sampler::Done<Tensor> done);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace espalier::client
