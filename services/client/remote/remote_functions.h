// The functions of plugins of one partition's graph server; of several, the first's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/client/remote/change_numbers.h"
#include "services/rpc/channel.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

// Thread-safe. Questions under way keep what they need alive when it is destroyed.
class RemoteFunctions {
 public:
  // `changes`: the numbers of all of this client's changes at that server. `identity`: of a request made now; any
  // thread.
  RemoteFunctions(std::shared_ptr<rpc::Peer> peer, std::shared_ptr<ChangeNumbers> changes,
                  std::function<tensor::v1::RequestIdentity()> identity);

  // As PartitionAccess::CallFunction. A call that changes tensors is numbered and made again while the server cannot be
  // reached and the deadline leaves time. Of others the server is asked once which functions are idempotent: those are
  // called again likewise, the rest is not.
  void Call(const std::string& function, const Tensor& request, sampler::TensorEffect effect, Deadline deadline,
            sampler::Done<Tensor> done);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace espalier::client
