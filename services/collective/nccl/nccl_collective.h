// Collective that sums values in the memory of GPUs with NCCL (https://docs.nvidia.com/deeplearning/nccl), on top of a
// connected group, the trainers' ring. The group sends NCCL's id to its ranks; with mutual TLS, no other process can
// read the id. The group also runs all operations on values in the host's memory, and detects ranks that leave while
// NCCL sums, because NCCL itself would wait for them forever.
//
// Errors have the same codes as those of the group's own operations, and no rank waits past its deadline. If a rank is
// killed or leaves while NCCL sums, the others get Unavailable promptly. If it is suspended, they get DeadlineExceeded
// at the deadline. If NCCL fails on one rank, the others get Unavailable. After any of these errors, each rank aborts
// its communicator. Sizes that differ between ranks are not detected; NCCL does not define the result of such a sum.
//
// Reproducibility: all ranks get the same bits. With NCCL_ALGO=Ring and NCCL_PROTO=Simple, NCCL adds the values in the
// order of its ring. That order depends on NCCL's version, the number of ranks, the machine's topology and the number
// of values, but not on timing. NVIDIA documents no guarantee.
//
// NCCL's own connections between hosts are not encrypted, and NCCL chooses their ports.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "services/collective/collective.h"
#include "services/collective/nccl/nccl_library.h"

namespace espalier::collective {

struct NcclOptions {
  NcclPaths paths;
  std::optional<int> device;       // CUDA's number of this rank's GPU; nullopt: the rank computes on the CPU
  bool allow_other_hosts = false;  // whether ranks on several hosts may use NCCL, in plaintext; the same on all ranks
  std::string host;                // identifies this host or container; empty: the kernel's boot id and the host name
  // Limit for connecting the GPUs; at most half of the time until the deadline is used. The same on all ranks.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(60);
};

struct NcclConnection {
  std::unique_ptr<Collective> group;  // never null; sums on devices if `unusable` is OK; otherwise the given group
  Status unusable;                    // OK, or why NCCL cannot be used: the same on every rank
};

// Connects the GPUs of a group's ranks. Every rank must call it, even without a GPU. If one rank cannot use NCCL, all
// ranks keep the given group, which stays usable. Returns an error only if the group itself fails. Blocks at most until
// the deadline.
Result<NcclConnection> ConnectNccl(std::unique_ptr<Collective> group, const NcclOptions& options, Deadline deadline);

}  // namespace espalier::collective
