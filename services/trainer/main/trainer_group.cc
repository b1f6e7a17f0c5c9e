#include "services/trainer/main/trainer_group.h"

#include "services/base/host_port.h"
#include "services/client/ring/ring_collective.h"
#include "services/collective/nccl/nccl_collective.h"
#include "services/collective/self_collective.h"
#include "services/rpc/local_address.h"

namespace espalier::trainer {

Result<std::unique_ptr<TrainerGroup>> TrainerGroup::Listen(const TrainerFlags& flags,
                                                           std::shared_ptr<const rpc::TransportSecurity> tls) {
  std::unique_ptr<TrainerGroup> group(new TrainerGroup(flags));
  if (flags.world_size > 1) RETURN_IF_ERROR(group->ListenOnRing(std::move(tls)));
  return group;
}

Status TrainerGroup::ListenOnRing(std::shared_ptr<const rpc::TransportSecurity> tls) {
  ASSIGN_OR_RETURN(const HostPort rendezvous, ParseHostPort(flags_.rendezvous));
  client::RingOptions options;
  options.rank = Rank(flags_.rank);
  options.size = flags_.world_size;
  options.incarnation = flags_.incarnation;
  options.tls = std::move(tls);
  options.allow_other_hosts = flags_.insecure_listen_any;
  options.advertised_host = flags_.local_address;
  options.listen = flags_.ring_listen;
  if (options.listen.empty()) {
    // Prefers --local-address, because rank 0's name in --rendezvous might not be in DNS yet.
    std::string host = IsLoopback(rendezvous.host) ? "" : flags_.local_address;
    if (host.empty() && flags_.rank == 0) host = rendezvous.host;
    if (host.empty()) {
      ASSIGN_OR_RETURN(host, rpc::FindLocalAddress(rendezvous.host));
    }
    options.listen = ToString(HostPort{host, flags_.rank == 0 ? rendezvous.port : uint16_t{0}});
  }
  ASSIGN_OR_RETURN(ring_, client::RingEndpoint::Listen(options));
  if (flags_.rank > 0) return Status();
  // The other ranks connect to the host of --rendezvous, which may differ from the address that rank 0 listens on.
  ASSIGN_OR_RETURN(const HostPort bound, ParseHostPort(ring_->address()));
  rendezvous_ = ToString(HostPort{rendezvous.host, bound.port});
  return Status();
}

Result<std::unique_ptr<collective::Collective>> TrainerGroup::Connect(const TrainerGpu& gpu, Deadline deadline) {
  const bool must_use_nccl = flags_.collective == "nccl";
  if (must_use_nccl && gpu.wanted == job::Device::kCpu) {
    return InvalidArgument(
        "--collective nccl: spec.trainers.device is CPU, expected CUDA or Auto, or --collective ring");
  }
  if (flags_.world_size == 1) return std::unique_ptr<collective::Collective>(new collective::SelfCollective());
  ASSIGN_OR_RETURN(std::unique_ptr<collective::Collective> ring,
                   client::ConnectRing(std::move(ring_), flags_.rendezvous, deadline));
  if (flags_.collective == "ring" || gpu.wanted == job::Device::kCpu) return ring;
  // With Auto, this trainer may be on the CPU and others on GPUs, so every trainer calls ConnectNccl.
  collective::NcclOptions options;
  options.paths = gpu.nccl;
  options.device = gpu.number;
  options.allow_other_hosts = must_use_nccl;
  ASSIGN_OR_RETURN(collective::NcclConnection connected, collective::ConnectNccl(std::move(ring), options, deadline));
  if (connected.unusable.ok()) return std::move(connected.group);
  if (must_use_nccl) return connected.unusable.While("--collective nccl");
  if (gpu.number.has_value()) {
    warning_ = "gradients are copied to host memory and summed over the ring, because NCCL is not used: " +
               connected.unusable.message();
  }
  return std::move(connected.group);
}

}  // namespace espalier::trainer
