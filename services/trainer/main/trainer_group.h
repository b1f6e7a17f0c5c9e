// Connects the trainers of a job: over the ring, in plaintext or with mutual TLS; trainers on GPUs also with NCCL.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "services/client/ring/ring_endpoint.h"
#include "services/collective/collective.h"
#include "services/collective/nccl/nccl_library.h"
#include "services/job/dist_training.h"
#include "services/trainer/main/trainer_flags.h"

namespace espalier::trainer {

// The device of a trainer, for the choice between NCCL and the ring.
struct TrainerGpu {
  job::Device wanted = job::Device::kCpu;  // spec.trainers.device, so the same for all trainers
  std::optional<int> number;               // CUDA's number of the GPU in use; nullopt: the CPU
  collective::NcclPaths nccl = {};
};

// Owned by one thread.
class TrainerGroup {
 public:
  // Listens on this rank's port of the ring, so that the port is known before slower work begins. Does nothing if the
  // world size is 1. `flags` must outlive the group.
  static Result<std::unique_ptr<TrainerGroup>> Listen(const TrainerFlags& flags,
                                                      std::shared_ptr<const rpc::TransportSecurity> tls);

  // Returns the address of the rendezvous at rank 0: "host:port" with the bound port. Empty at other ranks, and if the
  // world size is 1.
  const std::string& rendezvous() const { return rendezvous_; }
  // Blocks until all ranks are connected. Call once. With --collective auto, the trainers use NCCL if all of them are
  // on GPUs of one host and can use it. With --collective nccl, they use NCCL on any hosts, and Connect returns an
  // error if NCCL cannot be used. InvalidArgument: --collective is nccl, and the document's device is CPU.
  Result<std::unique_ptr<collective::Collective>> Connect(const TrainerGpu& gpu, Deadline deadline);
  // Returns, after Connect, why this trainer sums the gradients of its GPU over the ring, as a warning. Empty if it
  // uses NCCL, if it computes on the CPU, if --collective is "ring", or if the world size is 1.
  const std::string& warning() const { return warning_; }

 private:
  explicit TrainerGroup(const TrainerFlags& flags) : flags_(flags) {}
  Status ListenOnRing(std::shared_ptr<const rpc::TransportSecurity> tls);

  const TrainerFlags& flags_;
  std::string rendezvous_;
  std::string warning_;
  std::unique_ptr<client::RingEndpoint> ring_;
};

}  // namespace espalier::trainer
