// What data-parallel trainers say to each other. Implementations: SelfCollective (one rank), InProcessCollective
// (threads of one process, for tests and tools), trainer/gloo_collective (c10d's Gloo), client/ring (gRPC).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/graph/ids.h"

namespace espalier::collective {

// Every rank calls the same operations in the same order with the same sizes. After any error the group is dead:
// every further call of the rank fails at once with that error's code, so that whoever meets it second acts as on the
// first. Owned by one thread per rank.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual Rank rank() const = 0;
  virtual uint32_t size() const = 0;
  // "None", "InProcess", "Gloo", ...: which order sums are taken in, hence part of what makes runs repeatable.
  virtual const char* backend() const = 0;

  // values becomes the element-wise sum over ranks, the same bits on every rank and in every run of the same size.
  virtual Status AllReduceSum(std::span<float> values, Deadline deadline) = 0;
  virtual Status AllReduceSum(std::span<double> values, Deadline deadline) = 0;
  // Rank `root`'s bytes to all.
  virtual Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) = 0;
  // Every rank's bytes (equal sizes) in rank order: [size() * bytes.size()].
  virtual Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) = 0;
  // Returns when every rank has called it.
  virtual Status Barrier(Deadline deadline) = 0;
  // Leaves the group, which is dead then (Unavailable): peers that wait, or call later, fail at once instead of at
  // their deadline. For a rank that goes on with something else (cleaning up) after an error. Calling it again is fine.
  virtual void Abandon() = 0;
};

}  // namespace espalier::collective
