// One rank's communicator of NCCL. Connecting and summing do not block: Begin functions begin the operation, and Poll
// functions return whether it has ended.
#pragma once

#include <memory>

#include "services/base/status.h"
#include "services/collective/collective.h"
#include "services/collective/nccl/nccl_library.h"

namespace espalier::collective {

// Used by one thread. NCCL does not end the wait for a rank that has left: the caller must detect this and call Abort.
class NcclCommunicator {
 public:
  // Begins to connect the ranks; the communicator can be used when PollConnected returns true. `api` must stay valid.
  static Result<std::unique_ptr<NcclCommunicator>> Begin(const NcclApi& api, int device, uint32_t rank, uint32_t size,
                                                         const NcclUniqueId& id);
  ~NcclCommunicator() { Abort(); }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Returns whether all ranks are connected. Does not block.
  Result<bool> PollConnected();
  // Begins a sum over all ranks in the default stream of the device, after the operations that are queued there
  // already.
  Status BeginSum(DeviceFloats values);
  // Returns whether the sum has ended. Does not block.
  Result<bool> PollSum();
  // Ends pending operations on this rank only and frees the communicator. Later calls return Unavailable. Idempotent.
  void Abort();

 private:
  NcclCommunicator(const NcclApi& api, int device) : api_(api), device_(device) {}
  // Returns whether NCCL's threads have finished what was begun last: the ranks are connected, or the kernel of the sum
  // is in the stream. `what` is the context of errors.
  Result<bool> PollState(const char* what);

  const NcclApi& api_;
  const int device_;
  NcclHandle handle_ = nullptr;  // null after Abort
};

}  // namespace espalier::collective
