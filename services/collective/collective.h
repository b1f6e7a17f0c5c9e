// Collective operations of data-parallel trainers. Implementations: SelfCollective (one rank), InProcessCollective
// (threads of one process, for tests and tools), client/ring (TCP), nccl/NcclCollective (sums on GPUs).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::collective {

// f32 [count] in the memory of this rank's GPU. Not owned.
struct DeviceFloats {
  float* values = nullptr;
  size_t count = 0;
};

// The handle of one rank to the group. Every rank must call the same operations in the same order with the same sizes.
// Used by one thread, except that any thread may call Abandon. InvalidArgument: ranks called different operations or
// sizes. DeadlineExceeded: the deadline has passed. Cancelled: the deadline's stop was requested. Unavailable or, with
// some backends, Aborted: another rank left the group, failed or reached its deadline. After an error a group of
// several ranks is unusable: every later call of the rank fails immediately with the code of that error.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual Rank rank() const = 0;
  virtual uint32_t size() const = 0;  // world size
  // Returns "None", "InProcess", "Ring" or, with its version, "NCCL 2.28.9". The sums of AllReduceSumOnDevice can be
  // reproduced only with the same backend, because NCCL adds in an order of its own.
  virtual const char* backend() const = 0;

  // Replaces `values` with the element-wise sum over all ranks. The sum has the same bits on every rank, and in every
  // run with the same world size.
  virtual Status AllReduceSum(std::span<float> values, Deadline deadline) = 0;
  virtual Status AllReduceSum(std::span<double> values, Deadline deadline) = 0;
  // Copies the bytes of rank `root` to all ranks. A CHECK fails if `root` is not below size(). All ranks must pass the
  // same root. If they do not, ranks of the ring may return OK with bytes that differ between ranks; the next operation
  // then fails.
  virtual Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) = 0;
  // Returns the bytes of every rank (of equal sizes) in rank order: [size() * bytes.size()].
  virtual Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) = 0;
  // Blocks until every rank has called it.
  virtual Status Barrier(Deadline deadline) = 0;
  // Leaves the group: pending and later operations of this rank, and operations of other ranks that need this rank,
  // fail with Unavailable promptly instead of at their deadline. If an operation of this rank has already returned an
  // error, later ones return the same code. Call it to end a pending operation early, or before a long cleanup after an
  // error. Any thread may call it. Idempotent.
  virtual void Abandon() = 0;

  // Calls `is_done` about once a millisecond, in this thread, until it returns true. Then blocks until it has returned
  // true on every rank. `is_done` must not block. If `is_done` returns an error, so does this call, and the group
  // fails: the other ranks get Unavailable. During the call, this rank notices other ranks that leave, as in every
  // operation.
  virtual Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) = 0;

  // Returns whether AllReduceSumOnDevice can be called: the same on every rank.
  virtual bool SumsOnDevice() const { return false; }
  // AllReduceSum of values in the memory of this rank's GPU. Waits for the operations that were queued earlier in the
  // default stream of the GPU; the sums are complete when it returns. After an error the values are undefined.
  // FailedPrecondition: the backend does not sum on devices.
  virtual Status AllReduceSumOnDevice(DeviceFloats, Deadline) {
    return FailedPrecondition(std::string("the backend ") + backend() + " does not sum values in the memory of GPUs");
  }
};

}  // namespace espalier::collective
