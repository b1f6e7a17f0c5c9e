// The functions of plugins of one partition's graph server; of several, the first's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "espalier/tensor/v1/tensor.pb.h"
#include "services/rpc/channel.h"
#include "services/sampler/partition_access.h"

namespace espalier::client {

// Thread-safe. Questions under way keep what they need alive when it is destroyed.
class RemoteFunctions {
 public:
  // `identity`: of a request made now; any thread.
  RemoteFunctions(std::shared_ptr<rpc::Peer> peer, std::function<tensor::v1::RequestIdentity()> identity);

  // As PartitionAccess::CallFunction. The server is asked once which functions are idempotent: those are called again
  // while it cannot be reached and the deadline leaves time, others are not.
  void Call(const std::string& function, const Tensor& request, Deadline deadline, sampler::Done<Tensor> done);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace espalier::client
