// Sums of values in the memory of GPUs with NCCL (https://docs.nvidia.com/deeplearning/nccl), on top of a group whose
// connections exist already: that of the trainers' ring. The group carries NCCL's id to the ranks, so only ranks of
// this group, under its mutual TLS, get it; it carries all operations on values in the host's memory; and it watches
// the other ranks while NCCL sums, because NCCL itself waits forever for a rank that has left.
//
// Failures: as in the group's own operations, and each wait ends on all ranks. If a rank is killed or leaves while NCCL
// sums, the others get Unavailable promptly. If it is suspended, they get DeadlineExceeded at the deadline. An error of
// NCCL on one rank is Unavailable on the others. Then each rank aborts its communicator. Sizes that differ between
// ranks are not detected: NCCL leaves the result open.
//
// Bits: all ranks get the same. With NCCL_ALGO=Ring and NCCL_PROTO=Simple a sum is added in the order of NCCL's ring,
// which depends on NCCL's version, the number of ranks, the machine's topology and the number of values; no two
// additions race. NVIDIA documents no guarantee.
//
// NCCL's own connections between hosts are not encrypted, and use ports of its choice.
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
  std::optional<int> device;       // this rank's GPU, by CUDA's number; nullopt: the rank computes on the CPU
  bool allow_other_hosts = false;  // whether ranks on several hosts may use NCCL, in plaintext; the same on all ranks
  std::string host;                // identifies this host or container; empty: as the kernel identifies it
  // How long NCCL may connect the GPUs: at most half of the time until the deadline. The same on all ranks.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(60);
};

struct NcclConnection {
  std::unique_ptr<Collective> group;  // never null; sums on devices if `unusable` is OK, else the given group
  Status unusable;                    // why NCCL cannot be used: the same on every rank
};

// Connects the GPUs of a group's ranks. Every rank must call it, also one without a GPU. If NCCL cannot be used on one
// rank, all ranks keep the given group, which stays usable. An error is one of the group. Blocks until the deadline.
Result<NcclConnection> ConnectNccl(std::unique_ptr<Collective> group, const NcclOptions& options, Deadline deadline);

}  // namespace espalier::collective
