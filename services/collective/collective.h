// Collective operations of data-parallel trainers. Implementations: SelfCollective (one rank), InProcessCollective
// (threads of one process, for tests and tools), client/ring (TCP).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::collective {

// The handle of one rank to the group. Every rank must call the same operations in the same order with the same sizes.
// For one thread, except Abandon. InvalidArgument: ranks called different operations or sizes. DeadlineExceeded: the
// deadline has passed. Unavailable: another rank left the group or failed. After an error the group is unusable: every
// later call of the rank fails immediately with the code of that error.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual Rank rank() const = 0;
  virtual uint32_t size() const = 0;
  // Returns "None", "InProcess" or "Ring". The backend determines the order of summation; runs are reproducible
  // with the same backend.
  virtual const char* backend() const = 0;

  // Replaces `values` with the element-wise sum over all ranks. The sum has the same bits on every rank, and in every
  // run with the same world size.
  virtual Status AllReduceSum(std::span<float> values, Deadline deadline) = 0;
  virtual Status AllReduceSum(std::span<double> values, Deadline deadline) = 0;
  // Copies the bytes of rank `root` to all ranks.
  virtual Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) = 0;
  // Returns the bytes of every rank (of equal sizes) in rank order: [size() * bytes.size()].
  virtual Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) = 0;
  // Blocks until every rank has called it.
  virtual Status Barrier(Deadline deadline) = 0;
  // Leaves the group: pending and later operations of this rank, and operations of other ranks that need it, fail with
  // Unavailable promptly instead of at their deadline. If an operation of this rank has already returned an error,
  // later ones return the same code. Call it to end a pending operation early, or before a long cleanup after an error.
  // Any thread may call it. Idempotent.
  virtual void Abandon() = 0;
};

}  // namespace espalier::collective
